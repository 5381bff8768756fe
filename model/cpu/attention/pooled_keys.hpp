#pragma once
/// Pooled keys of groups of tokens (model/layers/pool.hpp), element by element.

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/rowwise/pointwise.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Element `at` of one pooled key of one sequence: the elements of keys and gates that contribute, and their shares.
template <typename T>
class PooledNumber {
  using W = Wide<T>;

 public:
  PooledNumber(const llmcalc::Pool& s, const PoolView& v, Count sequence, Count at)
      : s_(s), v_(v), sequence_(sequence), at_(at) {}

  /// Gathers the elements of group `group` from its tokens before `end`. Returns their weighted sum.
  W pool(Count group, Count end) {
    tokens_.clear();
    const Count first = group * s_.ratio;
    if (s_.wide > s_.width)
      for (Count t = std::max<Count>(0, first - s_.ratio); t < first; ++t) take(t, at_);
    for (Count t = first; t < std::min(end, first + s_.ratio); ++t) take(t, s_.wide - s_.width + at_);
    W most = tokens_.front().share, total(0), sum(0);
    for (const Token& t : tokens_) most = t.share > most ? t.share : most;
    for (Token& t : tokens_) total += t.share = exp_of(t.share - most);
    for (Token& t : tokens_) sum += (t.share = t.share / total) * t.key;
    return sum;
  }

  /// A token's contribution: its row, column, key and share.
  struct Token {
    Count token, column;
    W key, share;
  };
  const std::vector<Token>& tokens() const { return tokens_; }

 private:
  void take(Count t, Count column) {
    const T* const bias = static_cast<const T*>(v_.bias);
    tokens_.push_back(
        {t, column, wide(row(t, 0)[column]), wide(row(t, 1)[column]) + wide(bias[t % s_.ratio * s_.wide + column])});
  }
  /// Keys (0) or gates (1) of a token: from this pass, or from the state.
  const T* row(Count t, Count which) const {
    const void* const now = which == 0 ? v_.keys : v_.gates;
    if (t >= v_.past) return static_cast<const T*>(now) + (sequence_ * s_.queries + t - v_.past) * s_.wide;
    const Count slots = s_.last_tokens();
    return static_cast<const T*>(v_.state) + ((sequence_ * slots + t % slots) * 2 + which) * s_.wide;
  }

  const llmcalc::Pool& s_;
  const PoolView& v_;
  Count sequence_, at_;
  std::vector<Token> tokens_;
};

/// Saves keys and gates of the last tokens.
template <typename T>
void keep_last(const llmcalc::Pool& s, const PoolView& v) {
  const Count slots = s.last_tokens(), end = v.past + s.queries;
  for (Count b = 0; b < s.sequences; ++b)
    for (Count t = std::max(v.past, end - slots); t < end; ++t) {
      const Count from = (b * s.queries + t - v.past) * s.wide;
      T* const to = static_cast<T*>(v.state) + (b * slots + t % slots) * 2 * s.wide;
      std::copy_n(static_cast<const T*>(v.keys) + from, s.wide, to);
      std::copy_n(static_cast<const T*>(v.gates) + from, s.wide, to + s.wide);
    }
}

template <typename T>
void pool_keys(const llmcalc::Pool& s, const PoolView& v, T* y) {
  const Count groups = s.pooled() / s.sequences, first = v.past / s.ratio, end = v.past + s.queries;
  each<T>(s.width, s.pooled() * s.ratio, [&](Count at) {
    for (Count b = 0; b < s.sequences; ++b) {
      PooledNumber<T> number(s, v, b, at);
      for (Count g = 0; g < groups; ++g)
        y[(b * groups + g) * s.width + at] = static_cast<T>(number.pool(first + g, end));
    }
  });
  if (v.state != nullptr) keep_last<T>(s, v);
}

/// For a key k with share p of the sum y: dk = p dy, and its gate's gradient is p (k - y) dy. Elements that contribute
/// to no key get zeros.
template <typename T>
void pool_keys_gradient(const llmcalc::Pool& s, const PoolView& v, const T* dy, const PoolGradients& to) {
  using W = Wide<T>;
  T *const keys = static_cast<T*>(to.keys), *const gates = static_cast<T*>(to.gates);
  W* const bias = static_cast<W*>(to.bias);
  if (!to.add_keys) std::fill_n(keys, s.rows() * s.wide, T(W(0)));
  if (!to.add_gates) std::fill_n(gates, s.rows() * s.wide, T(W(0)));
  const Count groups = s.pooled() / s.sequences;
  each<T>(s.width, s.pooled() * s.ratio, [&](Count at) {
    for (Count b = 0; b < s.sequences; ++b) {
      PooledNumber<T> number(s, v, b, at);
      for (Count g = 0; g < groups; ++g) {
        const W sum = number.pool(g, s.queries), d = wide(dy[(b * groups + g) * s.width + at]);
        for (const auto& t : number.tokens()) {
          const Count place = (b * s.queries + t.token) * s.wide + t.column;
          const W by_gate = t.share * (t.key - sum) * d;
          put(keys + place, t.share * d, true);
          put(gates + place, by_gate, true);
          bias[t.token % s.ratio * s.wide + t.column] += by_gate;
        }
      }
    }
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
