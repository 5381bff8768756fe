#pragma once
/// Inputs of operators whose layer keeps a state per sequence instead of all its tokens: recurrences and convolutions.

#include "calc/arch/mixer.hpp"
#include "model/pass/heads.hpp"

namespace llmcalc::model {

/// Inputs of a recurrence, as its projections produce them. `kind` defines their use (s: softplus, A: exp(log_decay)):
///
///   gated_delta_net  q, k L2-normalized, q / sqrt(N); decay e^(-A s(d + bias)) per head; beta sigmoid(b)
///   kimi_delta       as gated_delta_net, with a decay per key channel
///   mamba2           step s(d + bias); decay e^(-A step) per head; the state receives step x v; the output adds skip v
///   mamba            as mamba2, with step s(d) and an A per channel and state element; wider heads (PLaMo 2) have one
///                    A per head, as in mamba2
///   rwkv6            decay e^(-e^d) per key channel, d learned if log_decay is present; `bonus` scales a token's
///                    own key when it is read before the state update
///   rwkv7            decay e^(-e^(-1/2) sigmoid(d)) and beta sigmoid(b), per key channel; removed is L2-normalized;
///                    its content is subtracted along it times beta
///   rg_lru           a = e^(-8 sigmoid(d + bias) s(log_decay)) per channel; the state receives sqrt(1 - a^2) times
///                    sigmoid(b + input_bias) v, without the root for a sequence's first token
///   mlstm            q / sqrt(N); decay sigmoid(c(d)) and strength e^c(b) per head, c(x) = 15 tanh(x / 15); outputs
///                    divided by max(|normalizer|, 1)
///   none             lightning attention: silu of q, k and v; decay e^(-slope), the slope 2^(-8 (h + 1) / H) x `slope`
///
/// Sources: calc/block/recurrent.hpp; hf minimax/modeling_minimax.py.
struct StateView {
  RecurrentKind kind = RecurrentKind::none;
  HeadView q, k, v, decay, beta;
  HeadView removed = {};  ///< rwkv7: the key whose content is read from the state and removed
  const void *log_decay = nullptr, *step_bias = nullptr, *skip = nullptr, *input_bias = nullptr, *bonus = nullptr;
  double slope = 1;  ///< lightning attention: the layer's factor on the slopes
  void* state =
      nullptr;         ///< wide, (sequences, heads, N, P), updated to the state after the last token; null: not stored
  bool begins = true;  ///< whether the state before the first token is zero, so `state` is not read
  /// mlstm: wide, a normalizer and its scale per row and head, written by forward for backward; null: not stored. out:
  /// forward's output, read by backward.
  void* normalizer = nullptr;
  const void* out = nullptr;
};

/// Destinations of the gradients, which are accumulated. Gradients of learned parameters are wide.
struct StateGradients {
  HeadView q, k, v, decay, beta, removed = {};
  void *log_decay = nullptr, *step_bias = nullptr, *skip = nullptr, *input_bias = nullptr, *bonus = nullptr;
};

/// Inputs of a convolution along the tokens: weight (channels, taps).
struct ConvolutionView {
  const void *x = nullptr, *weight = nullptr, *bias = nullptr;
  void* state = nullptr;  ///< (sequences, taps - 1, channels): the last inputs, updated by the call; null: not stored
  bool begins = true;     ///< whether zeros precede the first token, so `state` is not read
};

/// Inputs of a token shift: mixing coefficients `shares` (mixes, width) of the previous token.
struct ShiftView {
  const void *x = nullptr, *shares = nullptr;
  const void* moves = nullptr;  ///< (rows, mixes x width): added to the shares; may be null
  void* state = nullptr;        ///< (sequences, width): the last token, updated by the call; null: not stored
  bool begins = true;           ///< whether zeros precede the first token, so `state` is not read
};

}  // namespace llmcalc::model
