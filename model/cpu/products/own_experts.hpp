#pragma once
/// Experts that return their input (Moe::zero_experts). A router selects them in addition to experts with weights.

#include "model/cpu/products/experts.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// The tensors of a router with `experts` experts that have weights, and others that return their input. Elements of
/// the experts with weights come first, token by token, as in a router without the other experts; elements of the
/// others follow.
template <typename X>
struct BothExperts {
  X *experts, *own;
  BothExperts(X* x, Count rows, Count numbers) : experts(x), own(x + rows * numbers) {}
};

template <typename T>
void route_own(const Pointwise& s, const Moe& m, const T* logits, T* gates, Wide<T>* saved) {
  using W = Wide<T>;
  const Count e = m.experts, z = m.zero_experts, v = m.visited();
  const std::size_t n = static_cast<std::size_t>(s.width);
  Aligned<W> p(n), g(n);
  const BothExperts<T> to(gates, s.rows, e);
  const BothExperts<W> keep(saved, s.rows, saved != nullptr ? 2 * e : 0);
  for (Count t = 0; t < s.rows; ++t) {
    route_row(s, {{0, e, v}, {e, s.width, s.top_k - v}}, logits + t * s.width, p.data(), g.data());
    for (Count i = 0; i < e; ++i) to.experts[t * e + i] = static_cast<T>(g[static_cast<std::size_t>(i)]);
    for (Count i = 0; i < z; ++i) to.own[t * z + i] = static_cast<T>(g[static_cast<std::size_t>(e + i)]);
    if (saved == nullptr) continue;
    std::copy_n(p.data(), e, keep.experts + t * e);
    std::copy_n(g.data(), e, keep.experts + (s.rows + t) * e);
    std::copy_n(p.data() + e, z, keep.own + t * z);
    std::copy_n(g.data() + e, z, keep.own + (s.rows + t) * z);
  }
}

/// Like route_gradient, over both kinds of experts.
template <typename T>
void route_own_gradient(const Pointwise& s, const Moe& m, const Wide<T>* saved, const T* dgates, T* dlogits, bool add) {
  const Count e = m.experts, z = m.zero_experts;
  const BothExperts<const Wide<T>> from(saved, s.rows, 2 * e);
  const BothExperts<const T> d(dgates, s.rows, e);
  Aligned<Wide<T>> g(static_cast<std::size_t>(s.width));
  Aligned<T> dg(static_cast<std::size_t>(s.width));
  for (Count t = 0; t < s.rows; ++t) {
    std::copy_n(from.experts + (s.rows + t) * e, e, g.data());
    std::copy_n(from.own + (s.rows + t) * z, z, g.data() + e);
    std::copy_n(d.experts + t * e, e, dg.data());
    std::copy_n(d.own + t * z, z, dg.data() + e);
    gates_gradient(s.width, g.data(), dg.data(), dlogits + t * s.width, add);
  }
}

/// The sum of a token's gates for experts that return their input.
template <typename G>
auto own_gate(Count experts, const G* gates) {
  auto sum = wide(G(0));
  for (Count e = 0; e < experts; ++e)
    if (is_chosen(wide(gates[e]))) sum += wide(gates[e]);
  return sum;
}

template <typename T>
void add_own(const Pointwise& s, const Moe& m, const T* gates, const T* a, const T* b, T* y) {
  const BothExperts<const T> g(gates, s.rows, m.experts);
  each<T>(s.rows, s.width, [&](Count t) {
    const Wide<T> w = own_gate(m.zero_experts, g.own + t * m.zero_experts);
    const T *left = a + t * s.width, *right = b + t * s.width;
    put_lanes(0, s.width, y + t * s.width, false, [=](Count c) { return wide(left[c]) + w * wide(right[c]); });
  });
}

/// db = w dy; the gradient of every selected gate is dy . b. Without add_g, the gradients of all other gates are set to
/// zero.
template <typename T>
void add_own_gradient(const Pointwise& s, const Moe& m, const Wide<T>* saved, const T* b, const T* dy, T* db,
                      bool add_b, T* dgates, bool add_g) {
  using W = Wide<T>;
  const Count z = m.zero_experts;
  const W* const gates = BothExperts<const W>(saved, s.rows, 2 * m.experts).own + s.rows * z;
  T* const dg = BothExperts<T>(dgates, s.rows, m.experts).own;
  if (!add_g) std::fill_n(dgates, s.rows * m.choices(), T(W(0)));
  each<T>(s.rows, s.width, [&](Count t) {
    const T *d = dy + t * s.width, *from = b + t * s.width;
    const W w = own_gate(z, gates + t * z);
    const W dw = sum_of<W>(s.width, [=](Count c) { return wide(d[c]) * wide(from[c]); });
    put_lanes(0, s.width, db + t * s.width, add_b, [=](Count c) { return w * wide(d[c]); });
    for (Count e = 0; e < z; ++e)
      if (is_chosen(gates[t * z + e])) put(dg + t * z + e, dw, add_g);
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
