#pragma once
/// Mixes of residual streams, token by token.

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/rowwise/pointwise.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Softmax weights (shares) of one token's residual streams.
template <typename T>
class MixedToken {
  using W = Wide<T>;

 public:
  /// room: 2 elements for each stream.
  MixedToken(const MixView& v, Count width, Count row, W* room)
      : v_(v), row_(row), share_(room), inverse_(room + streams()) {
    const W n = number<W>(static_cast<double>(width));
    const T *const q = static_cast<const T*>(v.query), *const w = static_cast<const T*>(v.norm);
    for (Count j = 0; j < streams(); ++j) {
      const T* const x = stream(j);
      const W square = sum_of<W>(width, [=](Count c) { return wide(x[c]) * wide(x[c]); });
      inverse_[j] = W(1) / sqrt_of(square / n + number<W>(v.epsilon));
      share_[j] = inverse_[j] * sum_of<W>(width, [=](Count c) { return wide(q[c]) * wide(w[c]) * wide(x[c]); });
    }
    softmax();
  }
  Count streams() const { return static_cast<Count>(v_.streams.size()); }
  const T* stream(Count j) const {
    return static_cast<const T*>(v_.streams[static_cast<std::size_t>(j)]) + row_ * v_.stride;
  }
  W share(Count j) const { return share_[j]; }
  W inverse(Count j) const { return inverse_[j]; }
  /// Replaces the shares by the gradients of the scores; d(j): gradient of share j.
  template <typename F>
  void to_gradients(const F& d) {
    W mean(0);
    for (Count j = 0; j < streams(); ++j) mean += share_[j] * d(j);
    for (Count j = 0; j < streams(); ++j) share_[j] = share_[j] * (d(j) - mean);
  }

 private:
  void softmax() {
    W most = share_[0], sum(0);
    for (Count j = 1; j < streams(); ++j) most = share_[j] > most ? share_[j] : most;
    for (Count j = 0; j < streams(); ++j) sum += share_[j] = exp_of(share_[j] - most);
    for (Count j = 0; j < streams(); ++j) share_[j] = share_[j] / sum;
  }

  const MixView& v_;
  Count row_;
  W *share_, *inverse_;
};

template <typename T>
void mix(const Pointwise& s, const MixView& v, T* y) {
  using W = Wide<T>;
  each<T>(s.rows, 3 * s.top_k * s.width, [&](Count r) {
    Aligned<W> room(static_cast<std::size_t>(2 * s.top_k)), sums(static_cast<std::size_t>(s.width), W(0));
    const MixedToken<T> t(v, s.width, r, room.data());
    W* const sum = sums.data();
    for (Count j = 0; j < t.streams(); ++j)
      lanes<W>(0, s.width, [=, a = t.share(j), x = t.stream(j)](Count c) { sum[c] += a * wide(x[c]); });
    put_lanes(0, s.width, y + r * s.width, false, [=](Count c) { return sum[c]; });
  });
}

/// Computes the gradients of one token's streams: a_j dy + ds_j (inverse_j q w - v_j inverse_j^2 s_j / width). Stores
/// ds and inverse in `room`.
template <typename T>
void mixed_row_gradient(const Pointwise& s, const MixView& v, Count row, const T* dy, const MixGradients& to,
                        Wide<T>* room) {
  using W = Wide<T>;
  MixedToken<T> t(v, s.width, row, room);
  const Count n = t.streams();
  Aligned<W> shares(room, room + n), along(static_cast<std::size_t>(n));
  for (Count j = 0; j < n; ++j)
    along[static_cast<std::size_t>(j)] =
        sum_of<W>(s.width, [=, x = t.stream(j)](Count c) { return wide(dy[c]) * wide(x[c]); });
  t.to_gradients([&](Count j) { return along[static_cast<std::size_t>(j)]; });
  const T *const q = static_cast<const T*>(v.query), *const w = static_cast<const T*>(v.norm);
  const W size = number<W>(static_cast<double>(s.width));
  for (Count j = 0; j < n; ++j) {
    const T* const x = t.stream(j);
    const W a = shares[static_cast<std::size_t>(j)], inverse = t.inverse(j), grow = t.share(j) * inverse;
    const W dot = sum_of<W>(s.width, [=](Count c) { return wide(q[c]) * wide(w[c]) * wide(x[c]); });
    const W back = grow * inverse * inverse * dot / size;
    const GradientPlace& d = to.streams[static_cast<std::size_t>(j)];
    put_lanes(0, s.width, static_cast<T*>(d.to) + row * s.width, d.add,
              [=](Count c) { return a * wide(dy[c]) + grow * wide(q[c]) * wide(w[c]) - back * wide(x[c]); });
  }
}

/// Gradients of query and norm are summed over tokens and streams in order.
template <typename T>
void mix_gradient(const Pointwise& s, const MixView& v, const T* dy, const MixGradients& to) {
  using W = Wide<T>;
  const Count n = s.top_k;
  Aligned<W> room(static_cast<std::size_t>(2 * s.rows * n));
  W* const all = room.data();
  each<T>(s.rows, 6 * n * s.width,
          [&](Count r) { mixed_row_gradient(s, v, r, dy + r * s.width, to, all + 2 * r * n); });
  W *const dq = static_cast<W*>(to.query), *const dw = static_cast<W*>(to.norm);
  if (dq == nullptr && dw == nullptr) return;
  const T *const q = static_cast<const T*>(v.query), *const w = static_cast<const T*>(v.norm);
  stripes<T>(s.width, s.rows * n, [&](Count first, Count last) {
    for (Count r = 0; r < s.rows; ++r)
      for (Count j = 0; j < n; ++j) {
        const W by = all[2 * r * n + j] * all[(2 * r + 1) * n + j];
        const T* const x = static_cast<const T*>(v.streams[static_cast<std::size_t>(j)]) + r * v.stride;
        if (dq != nullptr) lanes<T>(first, last, [=](Count c) { dq[c] += by * wide(w[c]) * wide(x[c]); });
        if (dw != nullptr) lanes<T>(first, last, [=](Count c) { dw[c] += by * wide(q[c]) * wide(x[c]); });
      }
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
