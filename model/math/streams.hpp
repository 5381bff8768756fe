#pragma once
/// Weights of hyper-connections (mHC, arXiv:2512.24880; hf deepseek_v4/modeling_deepseek_v4.py) for one token, from the
/// values that a matrix computes from n residual streams, and their gradient.

#include "calc/units.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model {

/// Number of normalizations of a mixing matrix, by columns or rows, and the epsilon added to weights and divisors:
/// DeepSeek-V4's hc_sinkhorn_iters 20 (its first iteration replaces the row normalization by the softmax) and hc_eps.
inline constexpr Count stream_normalizations = 39;
inline constexpr double stream_epsilon = 1e-6;

/// An n x n mixing matrix: the softmax of each row, then columns and rows alternately divided by their sums (Sinkhorn,
/// Knopp 1967), columns first and last. `room`: workspace of stream_room(n) values, filled by mix() and read by
/// gradient().
template <typename W>
class Balanced {
 public:
  Balanced(Count n, W* room) : n_(n), mixed_(room), soft_(room + n * n), sums_(room + 2 * n * n) {}

  /// Weight from stream i to stream j.
  W operator()(Count i, Count j) const { return mixed_[i * n_ + j]; }

  /// logits(k): element k of the matrix before the softmax.
  template <typename F>
  void mix(const F& logits) {
    for (Count i = 0; i < n_; ++i) {
      W* const row = soft_ + i * n_;
      for (Count j = 0; j < n_; ++j) row[j] = logits(i * n_ + j);
      softmax(row);
      for (Count j = 0; j < n_; ++j) mixed_[i * n_ + j] = row[j] + number<W>(stream_epsilon);
    }
    for (Count k = 0; k < stream_normalizations; ++k) normalize(k);
  }

  /// Replaces the gradient d (n x n) of the result by the gradient of the logits. Destroys the result.
  void gradient(W* d) {
    for (Count k = stream_normalizations; k-- > 0;) undo(k, d);
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
  /// Index of element `at` of line `line`, which is a column if k is even, else a row.
  Count place(Count k, Count line, Count at) const { return k % 2 == 0 ? at * n_ + line : line * n_ + at; }
  void normalize(Count k) {
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
  /// y = x / S, where S is the line's sum: dx = (dy - sum of dy y over the line) / S, and x = y S.
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

/// Number of elements in the workspace of Balanced for n streams.
constexpr Count stream_room(Count n) { return n * (2 * n + stream_normalizations); }

}  // namespace llmcalc::model
