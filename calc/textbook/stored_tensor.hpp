#pragma once
/// One row of the table of tensors saved for backward, and helpers that write rows.

#include "calc/arch.hpp"
#include "calc/plan.hpp"
#include "calc/textbook/sizes.hpp"

namespace llmcalc::textbook {

/// A micro-batch of B sequences of S tokens with p bytes per element, and the options that determine the saved
/// tensors.
template <class N>
struct MicroBatch {
  N B, S, p;
  AttentionImpl attention = AttentionImpl::flash;
  SoftmaxStore softmax = SoftmaxStore::minimal;
  GluStore glu = GluStore::all;
  Mla mla = Mla::automatic;
  bool norm_stats = true, attention_dropout = false, hidden_dropout = false;
  bool log_sum_exps = true;  ///< if logits are not float32, whether the loss saves log-sum-exps
  bool sequence_parallel = false;
  bool even = true;  ///< whether every rank has the same number of tokens
};

/// Tokens of the micro-batch that a rank processes.
enum class Tokens : std::uint8_t {
  all,       ///< all tokens: B S
  first,     ///< the first token of every sequence: B
  mine,      ///< the rank's tokens: B S, or B S/T under sequence parallelism
  scattered  ///< also B S/T under sequence parallelism, but sharded element by element, not token by token
};

/// A stored tensor with `each` values per token in each of `layers` layers; a value has p bytes or one byte.
template <class N>
struct StoredActivation {
  N layers;
  Tokens tokens = Tokens::all;
  bool numbers = true;  ///< whether a value has p bytes; false: one byte
  N each;
  bool in_block = true, core = false;  ///< core: whether it is a score, mask or log-sum-exp of the attention core
  N rows = 0;                          ///< number of rows of pooled keys, used instead of the token count
  bool cross_layer_tensors = false;    ///< whether later layers read it; it is then saved even if the block's other
                                       ///< tensors are recomputed
};

/// Number of tokens in `tokens` on one rank.
template <class N>
N tokens_of(const MicroBatch<N>& m, const N& ranks, Tokens tokens) {
  const N all = tokens == Tokens::first ? m.B : m.B * m.S;
  return tokens == Tokens::all || !m.sequence_parallel ? all : quotient_up(all, ranks);
}

/// Helper that passes table rows to `visit`.
template <class N, class Visit>
class StoredRows {
 public:
  StoredRows(const MicroBatch<N>& m, Visit& visit) : m_(m), visit_(visit) {}

 protected:
  static bool has(const N& layers) { return !(layers == N(0)); }
  void numbers(const N& layers, Tokens tokens, const N& each) {
    visit_(StoredActivation<N>{layers, tokens, true, each});
  }
  void bytes(const N& layers, Tokens tokens, const N& each) {
    visit_(StoredActivation<N>{layers, tokens, false, each});
  }
  /// Float32 bytes of a norm's statistics: mean and deviation, or one mean square.
  static N statistic(bool centered) { return centered ? 8 : 4; }
  void statistics(const N& layers, Tokens tokens, const N& norms, bool centered) {
    if (m_.norm_stats) bytes(layers, tokens, statistic(centered) * norms);
  }

  const MicroBatch<N>& m_;
  Visit& visit_;
};

}  // namespace llmcalc::textbook
