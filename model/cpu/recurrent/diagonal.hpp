#pragma once
/// The state of RG-LRU (arXiv:2402.19427; hf recurrent_gemma/modeling_recurrent_gemma.py): h = a h + m g x for each
/// channel x separately, with a = e^(-8 sigmoid(r) softplus(p)), m = sqrt(1 - a^2) (1 for a sequence's first token) and
/// g = sigmoid(i). The gate inputs r and i have biases; p is learned. The result is h.

#include <vector>

#include "model/cpu/recurrent/state_inputs.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Wide gradients of the learned parameters; null if absent.
template <typename W>
struct DiagonalSums {
  W *log_decay = nullptr, *step_bias = nullptr, *input_bias = nullptr;
};

/// The states of one sequence.
template <typename T>
class DiagonalSequence {
  using W = Wide<T>;

 public:
  DiagonalSequence(const LinearAttention& s, const StateView& in, Count sequence)
      : s_(s),
        in_(in),
        sequence_(sequence),
        width_(mul(s.heads, s.head_dim)),
        decays_(s.queries, width_),
        inputs_(s.queries, width_),
        states_(s.queries + 1, width_) {
    if (in.state != nullptr && !in.begins) std::copy_n(saved(), width_, states_.row(0));
    for (Count t = 0; t < s.queries; ++t) read(t);
    for (Count t = 0; t < s.queries; ++t) {
      [[maybe_unused]] const InProduct<W> scope;
      const W *const a = decays_.row(t), *const x = inputs_.row(t), *const h = states_.row(t);
      W* const next = states_.row(t + 1);
      lanes<W>(0, width_, [=](Count c) { next[c] = a[c] * h[c] + x[c]; });
    }
  }

  void write(T* o) const {
    for (Count t = 0; t < s_.queries; ++t) {
      const W* const h = states_.row(t + 1);
      put_lanes(0, width_, o + (sequence_ * s_.queries + t) * width_, false, [=](Count c) { return h[c]; });
    }
    if (in_.state != nullptr) std::copy_n(states_.row(s_.queries), width_, saved());
  }

  void backward(const T* d_o, const StateGradients& to, const DiagonalSums<W>& sums) const {
    Rows<W> dh(1, width_);
    W* const d = dh.row(0);
    for (Count t = s_.queries; t-- > 0;) {
      const T* const from = d_o + (sequence_ * s_.queries + t) * width_;
      const W* const a = decays_.row(std::min(t + 1, s_.queries - 1));  // after the last token d is 0
      {
        [[maybe_unused]] const InProduct<W> scope;
        lanes<W>(0, width_, [=](Count c) { d[c] = d[c] * a[c] + wide(from[c]); });
      }
      for (Count c = 0; c < width_; ++c) add_gradient(t, c, d[c], to, sums);
    }
  }

 private:
  W* saved() const { return static_cast<W*>(in_.state) + sequence_ * width_; }
  W learned(In numbers, Count c) const { return wide(static_cast<const T*>(numbers)[c]); }
  const T* row(const HeadView& v, Count t) const { return at<T>(v, sequence_, t, 0); }
  bool is_first(Count t) const { return t == 0 && in_.begins; }
  W decay_gate(Count t, Count c) const { return sigmoid(wide(row(in_.decay, t)[c]) + learned(in_.step_bias, c)); }
  W input_gate(Count t, Count c) const { return sigmoid(wide(row(in_.beta, t)[c]) + learned(in_.input_bias, c)); }
  W gain(Count t, Count c) const {
    const W a = decays_.row(t)[c];
    return is_first(t) ? W(1) : sqrt_of(W(1) - a * a);
  }

  void read(Count t) {
    const T* const x = row(in_.v, t);
    for (Count c = 0; c < width_; ++c) {
      decays_.row(t)[c] = exp_of(W(-8) * decay_gate(t, c) * softplus(learned(in_.log_decay, c)));
      inputs_.row(t)[c] = gain(t, c) * input_gate(t, c) * wide(x[c]);
    }
  }

  /// d: gradient of the state h after token t.
  void add_gradient(Count t, Count c, W d, const StateGradients& to, const DiagonalSums<W>& sums) const {
    const W x = wide(row(in_.v, t)[c]), g = input_gate(t, c), m = gain(t, c), a = decays_.row(t)[c];
    const W r = decay_gate(t, c), p = learned(in_.log_decay, c);
    put(at_mutable<T>(to.v, sequence_, t, 0) + c, d * m * g, true);
    const W di = d * m * x * g * (W(1) - g);
    put(at_mutable<T>(to.beta, sequence_, t, 0) + c, di, true);
    W da = is_first(t) ? W(0) : -(d * g * x * a / m);
    {
      [[maybe_unused]] const InProduct<W> scope;
      da = d * states_.row(t)[c] + da;
    }
    const W dlog = da * a;
    const W dr = W(-8) * dlog * softplus(p) * r * (W(1) - r);
    put(at_mutable<T>(to.decay, sequence_, t, 0) + c, dr, true);
    if (sums.input_bias != nullptr) sums.input_bias[c] += di;
    if (sums.step_bias != nullptr) sums.step_bias[c] += dr;
    if (sums.log_decay != nullptr) sums.log_decay[c] += W(-8) * dlog * r * sigmoid(p);
  }

  const LinearAttention& s_;
  const StateView& in_;
  Count sequence_, width_;
  Rows<W> decays_, inputs_, states_;  ///< a; m g x; h before the first token and after each token
};

inline Flops diagonal_flops(const LinearAttention& s) { return flops(2, s.rows(), s.state()); }

template <typename T>
Flops diagonal(const LinearAttention& s, const StateView& in, T* o) {
  each<T>(s.sequences, s.queries * s.state(), [&](Count q) { DiagonalSequence<T>(s, in, q).write(o); });
  return diagonal_flops(s);
}

/// Sums the gradients of learned parameters per sequence, then over the sequences in order. States are recomputed with
/// one multiply-add each; their gradients need two.
template <typename T>
Flops diagonal_gradient(const LinearAttention& s, const StateView& in, const T* d_o, const StateGradients& to) {
  using W = Wide<T>;
  const Count width = mul(s.heads, s.head_dim);
  Rows<W> sums(s.sequences, 3 * width);
  const auto part = [&](Count q, Out result, Count i) { return result != nullptr ? sums.row(q) + i * width : nullptr; };
  each<T>(s.sequences, s.queries * s.state(), [&](Count q) {
    DiagonalSequence<T>(s, in, q).backward(
        d_o, to, {part(q, to.log_decay, 0), part(q, to.step_bias, 1), part(q, to.input_bias, 2)});
  });
  const std::array<Out, 3> all{to.log_decay, to.step_bias, to.input_bias};
  for (Count q = 0; q < s.sequences; ++q)
    for (Count i = 0; i < 3; ++i) {
      const W* const from = part(q, all[static_cast<std::size_t>(i)], i);
      W* const result = static_cast<W*>(all[static_cast<std::size_t>(i)]);
      if (from != nullptr) lanes<W>(0, width, [=](Count c) { result[c] += from[c]; });
    }
  return Count{3} * diagonal_flops(s);
}

}  // namespace llmcalc::model::LLMCALC_ISA
