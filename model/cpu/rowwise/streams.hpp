#pragma once
/// Residual streams: the copies of a token, the weighted sum that a sub-layer reads, and the distribution of the
/// sub-layer's result over the streams.

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/rowwise/pointwise.hpp"
#include "model/math/streams.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Rows of `width` elements, each repeated as `streams` copies.
template <typename T>
void repeat(Count rows, Count streams, Count width, const T* x, T* y) {
  each<T>(rows, streams * width, [=](Count r) {
    for (Count i = 0; i < streams; ++i) std::copy_n(x + r * width, width, y + (r * streams + i) * width);
  });
}
template <typename T>
void repeat_gradient(Count rows, Count streams, Count width, const T* dy, T* dx, bool add) {
  each<T>(rows, streams * width, [=](Count r) {
    const T* const from = dy + r * streams * width;
    put_lanes(0, width, dx + r * width, add, [=](Count c) {
      Wide<T> sum(0);
      for (Count i = 0; i < streams; ++i) sum += wide(from[i * width + c]);
      return sum;
    });
  });
}

/// One token: its streams, the weights computed from them, and the logits of these weights.
template <typename T>
class StreamToken {
  using W = Wide<T>;

 public:
  StreamToken(const StreamView& v, Count streams, Count numbers, Count row)
      : n(streams),
        width(numbers),
        x(static_cast<const T*>(v.x) + row * v.x_stride),
        weights_(static_cast<const T*>(v.weights) + row * v.columns),
        scales_(static_cast<const T*>(v.scales)),
        bias_(static_cast<const T*>(v.bias)) {
    const T* const from = x;
    const W square = sum_of<W>(n * width, [=](Count i) { return wide(from[i]) * wide(from[i]); });
    size_ = number<W>(static_cast<double>(n * width));
    inverse_ = W(1) / sqrt_of(square / size_ + number<W>(v.epsilon));
  }

  /// Weight k after normalization, before scale and bias.
  W normed(Count k) const { return inverse_ * wide(weights_[k]); }
  W scale(Count k) const { return wide(scales_[k < n ? 0 : k < 2 * n ? 1 : 2]); }
  W logit(Count k) const { return scale(k) * normed(k) + wide(bias_[k]); }
  W raw(Count k) const { return wide(weights_[k]); }
  W inverse() const { return inverse_; }
  /// For a gradient d of `inverse`, the gradient of x is this factor times x.
  W through_norm(W d) const { return -(d * inverse_ * inverse_ * inverse_ / size_); }

  const Count n, width;
  const T* const x;

 private:
  const T *weights_, *scales_, *bias_;
  W size_, inverse_;
};

/// Gradients of the weights [first, last) of all tokens; gradients of scales and bias are summed in token order.
template <typename T>
class StreamSums {
  using W = Wide<T>;

 public:
  StreamSums(const StreamView& v, Count rows, Count first, Count last)
      : v_(v), rows_(rows), first_(first), last_(last), room_(static_cast<std::size_t>(2 * rows * (last - first))) {}

  /// Writes the gradients of a token's weights, from gradients dz(k) of its logits. Returns the gradient of `inverse`.
  template <typename F>
  W token(Count row, const StreamToken<T>& t, const F& dz, const StreamGradients& to) {
    T* const dm = static_cast<T*>(to.weights) + row * v_.columns;
    W* const mine = room_.data() + 2 * row * (last_ - first_);
    W inverse(0);
    if (!to.add_weights) std::fill_n(dm, v_.columns, T(W(0)));
    for (Count k = first_; k < last_; ++k) {
      const W d = dz(k), scaled = d * t.scale(k);
      mine[2 * (k - first_)] = d;
      mine[2 * (k - first_) + 1] = d * t.normed(k);
      put(dm + k, scaled * t.inverse(), to.add_weights);
      inverse += scaled * t.raw(k);
    }
    return inverse;
  }
  void finish(Count streams, const StreamGradients& to) const {
    W *const bias = static_cast<W*>(to.bias), *const scales = static_cast<W*>(to.scales);
    for (Count r = 0; r < rows_; ++r)
      for (Count k = first_; k < last_; ++k) {
        const W* const d = room_.data() + 2 * (r * (last_ - first_) + k - first_);
        bias[k] += d[0];
        scales[k < streams ? 0 : k < 2 * streams ? 1 : 2] += d[1];
      }
  }

 private:
  StreamView v_;
  Count rows_, first_, last_;
  Aligned<W> room_;
};

/// y (rows, width) = the sum of the streams, weighted by the first n weights.
template <typename T>
void gather(const Pointwise& s, const StreamView& v, T* y) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width;
  each<T>(s.rows, n * width, [&](Count r) {
    const StreamToken<T> t(v, n, width, r);
    Aligned<W> share(static_cast<std::size_t>(n));
    for (Count i = 0; i < n; ++i) share[static_cast<std::size_t>(i)] = sigmoid(t.logit(i)) + number<W>(stream_epsilon);
    put_lanes(0, width, y + r * width, false, [=, of = share.data(), x = t.x](Count c) {
      W sum(0);
      for (Count i = 0; i < n; ++i) sum += of[i] * wide(x[i * width + c]);
      return sum;
    });
  });
}

template <typename T>
void gather_gradient(const Pointwise& s, const StreamView& v, const T* dy, const StreamGradients& to) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width;
  StreamSums<T> sums(v, s.rows, 0, n);
  each<T>(s.rows, n * width, [&](Count r) {
    const StreamToken<T> t(v, n, width, r);
    const T* const d = dy + r * width;
    const W through = t.through_norm(sums.token(
        r, t,
        [&](Count k) {
          const T* const x = t.x + k * width;
          const W g = sigmoid(t.logit(k));
          return g * (W(1) - g) * sum_of<W>(width, [=](Count c) { return wide(d[c]) * wide(x[c]); });
        },
        to));
    for (Count i = 0; i < n; ++i) {
      const T* const x = t.x + i * width;
      const W share = sigmoid(t.logit(i)) + number<W>(stream_epsilon);
      put_lanes(0, width, static_cast<T*>(to.x) + (r * n + i) * width, to.add_x,
                [=](Count c) { return share * wide(d[c]) + through * wide(x[c]); });
    }
  });
  sums.finish(n, to);
}

/// Values, derived from a token's weights, for spreading a sub-layer's result over the residual streams: shares, the
/// mixing matrix, and scratch for its gradient.
template <typename T>
struct SpreadWeights {
  using W = Wide<T>;
  explicit SpreadWeights(const StreamToken<T>& t)
      : room(static_cast<std::size_t>(stream_room(t.n) + t.n * (2 * t.n + 1))),
        balanced(t.n, room.data()),
        share(room.data() + stream_room(t.n)),
        mixed(share + t.n),
        gradient(mixed + t.n * t.n) {
    for (Count i = 0; i < t.n; ++i) share[i] = W(2) * sigmoid(t.logit(t.n + i));
    balanced.mix([&](Count k) { return t.logit(2 * t.n + k); });
    for (Count i = 0; i < t.n; ++i)
      for (Count j = 0; j < t.n; ++j) mixed[i * t.n + j] = balanced(i, j);
  }
  Aligned<W> room;
  Balanced<W> balanced;
  W *share, *mixed, *gradient;
};

/// out (rows, n, width): stream j becomes its share of the result y, plus the mix of all streams.
template <typename T>
void spread(const Pointwise& s, const StreamView& v, const T* y, T* out) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width / n;
  each<T>(s.rows, n * s.width, [&](Count r) {
    const StreamToken<T> t(v, n, width, r);
    const SpreadWeights<T> w(t);
    for (Count j = 0; j < n; ++j)
      put_lanes(0, width, out + r * s.width + j * width, false, [&, result = y + r * width](Count c) {
        W sum = w.share[j] * wide(result[c]);
        for (Count i = 0; i < n; ++i) sum += w.mixed[i * n + j] * wide(t.x[i * width + c]);
        return sum;
      });
  });
}

template <typename T>
void spread_gradient(const Pointwise& s, const StreamView& v, const T* y, const T* d_out, const StreamGradients& to) {
  using W = Wide<T>;
  const Count n = s.top_k, width = s.width / n;
  StreamSums<T> sums(v, s.rows, n, n * (n + 2));
  each<T>(s.rows, n * s.width, [&](Count r) {
    const StreamToken<T> t(v, n, width, r);
    SpreadWeights<T> w(t);
    const T *const d = d_out + r * s.width, *const result = y + r * width;
    put_lanes(0, width, static_cast<T*>(to.result) + r * width, to.add_result, [&](Count c) {
      W sum(0);
      for (Count j = 0; j < n; ++j) sum += w.share[j] * wide(d[j * width + c]);
      return sum;
    });
    const auto dot = [&](const T* a, const T* b) {
      return sum_of<W>(width, [=](Count c) { return wide(a[c]) * wide(b[c]); });
    };
    for (Count i = 0; i < n; ++i)
      for (Count j = 0; j < n; ++j) w.gradient[i * n + j] = dot(t.x + i * width, d + j * width);
    w.balanced.gradient(w.gradient);
    const auto dz = [&](Count k) {
      if (k >= 2 * n) return w.gradient[k - 2 * n];
      const W half = w.share[k - n] / W(2);
      return W(2) * half * (W(1) - half) * dot(result, d + (k - n) * width);
    };
    const W through = t.through_norm(sums.token(r, t, dz, to));
    for (Count i = 0; i < n; ++i)
      put_lanes(0, width, static_cast<T*>(to.x) + r * s.width + i * width, to.add_x, [&](Count c) {
        W sum = through * wide(t.x[i * width + c]);
        for (Count j = 0; j < n; ++j) sum += w.mixed[i * n + j] * wide(d[j * width + c]);
        return sum;
      });
  });
  sums.finish(n, to);
}

}  // namespace llmcalc::model::LLMCALC_ISA
