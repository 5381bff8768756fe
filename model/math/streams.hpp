#pragma once
/// Weights of hyper-connections (mHC, arXiv:2512.24880; hf deepseek_v4/modeling_deepseek_v4.py): what the numbers that
/// a matrix makes of n residual streams become for one token, and the gradient of that.

#include "calc/units.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model {

/// Normalisations of a mixing matrix, columns and rows counted together, and what is added to weights and divisors:
/// DeepSeek-V4's hc_sinkhorn_iters 20 (its first iteration has the softmax in place of the rows) and hc_eps.
inline constexpr Count stream_normalisations = 39;
inline constexpr double stream_epsilon = 1e-6;

/// A mixing matrix of n x n numbers: the softmax of each row, then columns and rows in turn divided by their sums
/// (Sinkhorn, Knopp 1967), a column first and last. `room`: stream_room(n) numbers; mix() fills them, gradient() reads
/// them.
template <typename W>
class Balanced {
 public:
  Balanced(Count n, W* room) : n_(n), mixed_(room), soft_(room + n * n), sums_(room + 2 * n * n) {}

  /// The number that stream i gives to stream j.
  W operator()(Count i, Count j) const { return mixed_[i * n_ + j]; }

  /// logits(k): number k of the matrix before the softmax.
  template <typename F>
  void mix(const F& logits) {
    for (Count i = 0; i < n_; ++i) {
      W* const row = soft_ + i * n_;
      for (Count j = 0; j < n_; ++j) row[j] = logits(i * n_ + j);
      softmax(row);
      for (Count j = 0; j < n_; ++j) mixed_[i * n_ + j] = row[j] + number<W>(stream_epsilon);
    }
    for (Count k = 0; k < stream_normalisations; ++k) normalise(k);
  }

  /// Replaces the gradient d (n x n) of the result by that of the logits; the result is lost.
  void gradient(W* d) {
    for (Count k = stream_normalisations; k-- > 0;) undo(k, d);
    for (Count i = 0; i < n_; ++i) {
      W sum(0);
      for (Count j = 0; j < n_; ++j) sum += d[i * n_ + j] * soft_[i * n_ + j];
      for (Count j = 0; j < n_; ++j) d[i * n_ + j] = soft_[i * n_ + j] * (d[i * n_ + j] - sum);
    }
  }

 private:
  void softmax(W* row) const {
    W most = row[0], sum(0);
    for (Count j = 1; j < n_; ++j) most = row[j] > most ? row[j] : most;
    for (Count j = 0; j < n_; ++j) sum += row[j] = exp_of(row[j] - most);
    for (Count j = 0; j < n_; ++j) row[j] = row[j] / sum;
  }
  /// Index of number `at` of line `line`: a column where k is even, else a row.
  Count place(Count k, Count line, Count at) const { return k % 2 == 0 ? at * n_ + line : line * n_ + at; }
  void normalise(Count k) {
    for (Count line = 0; line < n_; ++line) {
      W sum = number<W>(stream_epsilon);
      for (Count at = 0; at < n_; ++at) sum += mixed_[place(k, line, at)];
      sums_[k * n_ + line] = sum;
      for (Count at = 0; at < n_; ++at) {
        W& x = mixed_[place(k, line, at)];
        x = x / sum;
      }
    }
  }
  /// y = x / S, S the line's sum: dx = (dy - the line's sum of dy y) / S, and x = y S.
  void undo(Count k, W* d) {
    for (Count line = 0; line < n_; ++line) {
      const W of = sums_[k * n_ + line];
      W sum(0);
      for (Count at = 0; at < n_; ++at) sum += d[place(k, line, at)] * mixed_[place(k, line, at)];
      for (Count at = 0; at < n_; ++at) {
        W &x = mixed_[place(k, line, at)], &dx = d[place(k, line, at)];
        dx = (dx - sum) / of;
        x = x * of;
      }
    }
  }

  Count n_;
  W *mixed_, *soft_, *sums_;
};

/// Numbers that Balanced needs for n streams.
constexpr Count stream_room(Count n) { return n * (2 * n + stream_normalisations); }

}  // namespace llmcalc::model
