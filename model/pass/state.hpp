#pragma once
/// Inputs of the operators whose layer keeps a state of a sequence instead of all its tokens: recurrences and
/// convolutions.

#include "calc/arch/mixer.hpp"
#include "model/pass/heads.hpp"

namespace llmcalc::model {

/// Inputs of a recurrence, as they come from its projections. `kind` says what becomes of them (s: softplus, A:
/// exp(log_decay)):
///
///   gated_delta_net  q, k of length 1, q / sqrt(N); decay e^(-A s(d + bias)) per head; beta sigmoid(b)
///   kimi_delta       the same with a decay per channel of the key
///   mamba2           step s(d + bias); decay e^(-A step) per head; the state takes step x v; + skip v
///   mamba            the same with step s(d), and an A for each channel and number of its state; of wider heads (PLaMo
///                    2) one A per head, as mamba2
///   rwkv6            decay e^(-e^d) per channel of the key, d learned where log_decay is there; `bonus`, times which a
///                    token's own key is read before the state takes it
///   rwkv7            decay e^(-e^(-1/2) sigmoid(d)) and beta sigmoid(b), per channel of the key; removed of length 1,
///                    and along it times beta
///   rg_lru           a = e^(-8 sigmoid(d + bias) s(log_decay)) per channel; the state takes sqrt(1 - a^2) sigmoid(b +
///                    input_bias) v, and of a sequence's first token v under the gate alone
///   mlstm            q / sqrt(N); decay sigmoid(c(d)) and strength e^c(b) per head, c(x) = 15 tanh(x / 15); outputs
///                    divided by max(|normaliser|, 1)
///   none             lightning attention: silu of q, k and v; decay e^(-slope), the slope 2^(-8 (h + 1) / H) x `slope`
///
/// Sources: calc/block/recurrent.hpp; hf minimax/modeling_minimax.py.
struct StateView {
  RecurrentKind kind = RecurrentKind::none;
  HeadView q, k, v, decay, beta;
  HeadView removed = {};  ///< rwkv7: the key by which the state is read, and what it knows removed
  const void *log_decay = nullptr, *step_bias = nullptr, *skip = nullptr, *input_bias = nullptr, *bonus = nullptr;
  double slope = 1;       ///< lightning attention: the layer's factor
  void* state = nullptr;  ///< wide, (sequences, heads, N, P), replaced by that after the last token; null: not kept
  bool begins = true;     ///< the state before the first token is zero, whatever `state` holds
  /// mlstm: wide, a number of the normaliser and its scale per row and head, which forward writes for
  /// backward; null: not kept. out: what forward wrote, which backward reads.
  void* normaliser = nullptr;
  const void* out = nullptr;
};

/// Destinations of the gradients, which are added there; those of learned numbers are wide.
struct StateGradients {
  HeadView q, k, v, decay, beta, removed = {};
  void *log_decay = nullptr, *step_bias = nullptr, *skip = nullptr, *input_bias = nullptr, *bonus = nullptr;
};

/// Inputs of a convolution along the tokens: weight (channels, taps).
struct ConvolutionView {
  const void *x = nullptr, *weight = nullptr, *bias = nullptr;
  void* state =
      nullptr;         ///< (sequences, taps - 1, channels): the last inputs, replaced by the new ones; null: not kept
  bool begins = true;  ///< there are zeros before the first token, whatever `state` holds
};

/// Inputs of a shift: shares (mixes, width) of the token before.
struct ShiftView {
  const void *x = nullptr, *shares = nullptr;
  const void* moves = nullptr;  ///< (rows, mixes x width): added to the shares; null: nothing is
  void* state = nullptr;        ///< (sequences, width): the last token, replaced by the new one; null: not kept
  bool begins = true;           ///< there are zeros before the first token, whatever `state` holds
};

}  // namespace llmcalc::model
