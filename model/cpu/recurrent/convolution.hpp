#pragma once
/// Causal convolutions along the tokens, separately for each channel: y_t = sum of w_j x_(t - taps + 1 + j) + b.
/// Positions before the first token and after the last are treated as zeros.

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/products/product.hpp"
#include "model/cpu/rowwise/pointwise.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Inputs of one sequence by position; those before the first token are in the state.
template <typename T>
struct Window {
  const Convolution& s;
  const ConvolutionView& v;
  Count sequence;
  const T* zeros;
  Count before() const { return s.taps - 1; }
  T* state() const { return static_cast<T*>(v.state) + sequence * before() * s.channels; }
  const T* row(Count t) const {
    if (t >= 0) return static_cast<const T*>(v.x) + (sequence * s.queries + t) * s.channels;
    return v.begins || v.state == nullptr ? zeros : state() + (before() + t) * s.channels;
  }
  /// Saves the inputs that the next token will see; rows move toward the front.
  void keep() const {
    for (Count i = 0; i < before(); ++i)
      std::copy_n(row(s.queries - before() + i), s.channels, state() + i * s.channels);
  }
};

/// to_c += w_(c, tap) x_c for channels [first, last).
template <typename T, typename X>
void add_tap(const Convolution& s, const T* w, Count tap, Count first, Count last, const X* x, Wide<T>* to) {
  [[maybe_unused]] const InProduct<Wide<T>> scope;
  lanes<T>(first, last, [=, &s](Count c) { to[c - first] += wide(w[c * s.taps + tap]) * wide(x[c]); });
}

/// Computes the convolution sums of token t, before the activation.
template <typename T>
void convolved(const Window<T>& in, Count t, Count first, Count last, Wide<T>* to) {
  const T *w = static_cast<const T*>(in.v.weight), *b = static_cast<const T*>(in.v.bias);
  lanes<T>(first, last, [=](Count c) { to[c - first] = Wide<T>(0); });
  for (Count j = 0; j < in.s.taps; ++j) add_tap(in.s, w, j, first, last, in.row(t - in.before() + j), to);
  if (b != nullptr) lanes<T>(first, last, [=](Count c) { to[c - first] += wide(b[c]); });
}

inline Flops tap_flops(const Convolution& s) { return flops(2, s.rows(), s.channels, s.taps); }

template <typename T>
Flops convolve(const Convolution& s, const ConvolutionView& v, T* y) {
  using W = Wide<T>;
  const Aligned<T> zeros(static_cast<std::size_t>(s.channels), T(W(0)));
  each<T>(s.rows(), s.channels * s.taps, [&](Count r) {
    thread_local Aligned<W> sums;
    sums.resize(static_cast<std::size_t>(s.channels));
    const Window<T> in{s, v, r / s.queries, zeros.data()};
    convolved(in, r % s.queries, 0, s.channels, sums.data());
    const W* const z = sums.data();
    if (s.activated)
      put_lanes(0, s.channels, y + r * s.channels, false, [=](Count c) { return Silu::value(z[c]); });
    else
      put_lanes(0, s.channels, y + r * s.channels, false, [=](Count c) { return z[c]; });
  });
  if (v.state != nullptr)
    for (Count q = 0; q < s.sequences; ++q) Window<T>{s, v, q, zeros.data()}.keep();
  return tap_flops(s);
}

/// Gradients of channels [first, last) of one sequence; dz: (queries + taps - 1, channels of the stripe); the last taps
/// - 1 rows are zeros.
template <typename T>
struct ConvolutionStripe {
  using W = Wide<T>;
  const Window<T> in;
  Count first, last;
  Aligned<W>& dz;

  Count width() const { return last - first; }
  W* row(Count t) const { return dz.data() + t * width(); }

  void gradient_of_sums(const T* dy) const {
    std::fill(dz.begin(), dz.end(), W(0));
    for (Count t = 0; t < in.s.queries; ++t) {
      const T* d = dy + (in.sequence * in.s.queries + t) * in.s.channels + first;
      W* const z = row(t);
      if (in.s.activated) {
        convolved(in, t, first, last, z);
        lanes<T>(0, width(), [=](Count c) { z[c] = wide(d[c]) * Silu::slope(z[c]); });
      } else {
        lanes<T>(0, width(), [=](Count c) { z[c] = wide(d[c]); });
      }
    }
  }
  void gradient_of_inputs(T* dx, bool add) const {
    const T* const w = static_cast<const T*>(in.v.weight);
    Aligned<W> sums(static_cast<std::size_t>(width()));
    for (Count t = 0; t < in.s.queries; ++t) {
      std::fill(sums.begin(), sums.end(), W(0));
      for (Count j = 0; j < in.s.taps; ++j)
        add_tap(in.s, w, j, first, last, row(t + in.before() - j) - first, sums.data());
      T* const to = dx + (in.sequence * in.s.queries + t) * in.s.channels + first;
      const W* const from = sums.data();
      put_lanes(0, width(), to, add, [=](Count c) { return from[c]; });
    }
  }
  void gradient_of_weights(W* dw, W* db) const {
    const Count taps = in.s.taps;
    for (Count t = 0; t < in.s.queries; ++t) {
      const W* const z = row(t);
      for (Count j = 0; j < taps && dw != nullptr; ++j) {
        const T* const x = in.row(t - in.before() + j) + first;
        [[maybe_unused]] const InProduct<W> scope;
        lanes<T>(0, width(), [=, this](Count c) { dw[(first + c) * taps + j] += wide(x[c]) * z[c]; });
      }
      if (db != nullptr) lanes<T>(0, width(), [=, this](Count c) { db[first + c] += z[c]; });
    }
  }
};

template <typename T>
Flops convolve_gradient(const Convolution& s, const ConvolutionView& v, const T* dy, T* dx, bool add, Wide<T>* dw,
                        Wide<T>* db) {
  using W = Wide<T>;
  const Aligned<T> zeros(static_cast<std::size_t>(s.channels), T(W(0)));
  stripes<T>(s.channels, s.rows() * s.taps, [&](Count first, Count last) {
    Aligned<W> dz(static_cast<std::size_t>((s.queries + s.taps - 1) * (last - first)));
    for (Count q = 0; q < s.sequences; ++q) {
      const ConvolutionStripe<T> stripe{{s, v, q, zeros.data()}, first, last, dz};
      stripe.gradient_of_sums(dy);
      stripe.gradient_of_inputs(dx, add);
      stripe.gradient_of_weights(dw, db);
    }
  });
  return (s.activated ? 3 : 2) * tap_flops(s);  // with an activation, the sums are recomputed for its slope
}

}  // namespace llmcalc::model::LLMCALC_ISA
