#pragma once
/// Mixture of experts: routing, dispatch, combination.

#include <initializer_list>

#include "model/backend.hpp"
#include "model/cpu/aligned.hpp"
#include "model/cpu/products/product.hpp"
#include "model/cpu/rowwise/pointwise.hpp"
#include "model/math/routing.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// A range [first, last) of experts, of which every token selects `chosen`.
struct Choices {
  Count first, last, chosen;
};

/// gates: softmax of a row of logits, with the largest entries of each part renormalized and all others set to
/// not_chosen.
template <typename T>
void route_row(const Pointwise& s, std::initializer_list<Choices> parts, const T* logits, Wide<T>* p, Wide<T>* gates) {
  using W = Wide<T>;
  W sum(0), chosen(0);
  const W most = greatest_of<W>(s.width, logits);
  for (Count e = 0; e < s.width; ++e) {
    p[e] = exp_of(wide(logits[e]) - most);
    sum += p[e];
  }
  for (Count e = 0; e < s.width; ++e) {
    p[e] = p[e] / sum;
    gates[e] = number<W>(not_chosen);
  }
  for (const Choices& part : parts)
    for (Count k = 0; k < part.chosen; ++k) {
      Count best = -1;
      for (Count e = part.first; e < part.last; ++e)
        if (!is_chosen(gates[e]) && (best < 0 || p[e] > p[best])) best = e;
      gates[best] = p[best];
      chosen += p[best];
    }
  for (Count e = 0; e < s.width; ++e)
    if (is_chosen(gates[e])) gates[e] = gates[e] / chosen;
}

/// `saved`: rows x experts probabilities, followed by rows x experts gates.
template <typename T>
void route(const Pointwise& s, const T* logits, T* gates, Wide<T>* saved) {
  using W = Wide<T>;
  const std::size_t n = static_cast<std::size_t>(s.width);
  Aligned<W> row(2 * n);
  for (Count t = 0; t < s.rows; ++t) {
    W* p = saved != nullptr ? saved + t * s.width : row.data();
    W* g = saved != nullptr ? saved + (s.rows + t) * s.width : row.data() + n;
    route_row(s, {{0, s.width, s.top_k}}, logits + t * s.width, p, g);
    for (Count e = 0; e < s.width; ++e) gates[t * s.width + e] = static_cast<T>(g[e]);
  }
}

/// Where c is the total probability of the selected experts, and g = p/c are the gates: dl_e = g_e (dg_e - sum g dg)
/// for selected experts, 0 elsewhere, as for the softmax of the selected logits.
template <typename T>
void gates_gradient(Count choices, const Wide<T>* g, const T* dg, T* dlogits, bool add) {
  using W = Wide<T>;
  W mean(0);
  for (Count e = 0; e < choices; ++e)
    if (is_chosen(g[e])) mean += g[e] * wide(dg[e]);
  for (Count e = 0; e < choices; ++e) put(dlogits + e, is_chosen(g[e]) ? g[e] * (wide(dg[e]) - mean) : W(0), add);
}
template <typename T>
void route_gradient(const Pointwise& s, const Wide<T>* saved, const T* dgates, T* dlogits, bool add) {
  for (Count t = 0; t < s.rows; ++t)
    gates_gradient(s.width, saved + (s.rows + t) * s.width, dgates + t * s.width, dlogits + t * s.width, add);
}

/// Multiplies the gates of selected experts by a learned factor per expert.
template <typename T>
void scale_gates(const Pointwise& s, const T* factors, T* gates) {
  for (Count i = 0; i < s.rows * s.width; ++i)
    if (is_chosen(wide(gates[i]))) gates[i] = static_cast<T>(wide(gates[i]) * wide(factors[i % s.width]));
}
/// saved: see route. Turns dgates into gradients of the unscaled gates.
template <typename T>
void scale_gates_gradient(const Pointwise& s, const Wide<T>* saved, const T* factors, T* dgates, Wide<T>* dfactors) {
  const Wide<T>* const gates = saved + s.rows * s.width;
  for (Count i = 0; i < s.rows * s.width; ++i) {
    if (!is_chosen(gates[i])) continue;
    if (dfactors != nullptr) dfactors[i % s.width] += wide(dgates[i]) * gates[i];
    dgates[i] = static_cast<T>(wide(dgates[i]) * wide(factors[i % s.width]));
  }
}

template <typename T>
void dispatch(const Pointwise& s, Count experts, const T* gates, const T* x, T* y) {
  const TokenRouting r = routing(s.rows / s.top_k, experts, gates);
  each<T>(s.rows, s.width,
          [&](Count i) { std::copy_n(x + r.token[static_cast<std::size_t>(i)] * s.width, s.width, y + i * s.width); });
}
/// Writes to `to`, or adds to it, the sum of factor(row) x row over a token's rows, in expert order.
template <typename T, typename F>
void sum_rows(const TokenRouting& r, Count width, const T* x, T* to, bool add, const F& factor) {
  using W = Wide<T>;
  each<T>(static_cast<Count>(r.row.size()) / std::max<Count>(1, r.top_k), width * r.top_k, [&](Count t) {
    thread_local Aligned<W> sums;
    sums.assign(static_cast<std::size_t>(width), W(0));
    W* sum = sums.data();
    for (Count k = 0; k < r.top_k; ++k) {
      const Count row = r.row[static_cast<std::size_t>(t * r.top_k + k)];
      const T* from = x + row * width;
      const W f = factor(row);
      add_scaled_row(width, f, from, sum);
    }
    put_row(width, sum, to + t * width, add);
  });
}

/// Computes every token's dx: the sum of its rows of dy.
template <typename T>
void dispatch_gradient(const Pointwise& s, Count experts, const Wide<T>* saved, const T* dy, T* dx, bool add) {
  const Count tokens = s.rows / s.top_k;
  sum_rows(routing(tokens, experts, saved + tokens * experts), s.width, dy, dx, add, [](Count) { return Wide<T>(1); });
}

template <typename T>
void combine(const Pointwise& s, Count experts, const T* gates, const T* x, T* y, Wide<T>* saved) {
  using W = Wide<T>;
  const TokenRouting r = routing(s.rows, experts, gates);
  Aligned<W> gate(r.token.size());
  for (Count e = 0; e < experts; ++e)
    for (Count i = r.first[static_cast<std::size_t>(e)]; i < r.first[static_cast<std::size_t>(e) + 1]; ++i)
      gate[static_cast<std::size_t>(i)] = wide(gates[r.token[static_cast<std::size_t>(i)] * experts + e]);
  if (saved != nullptr) std::copy(gate.begin(), gate.end(), saved);
  sum_rows(r, s.width, x, y, false, [&](Count row) { return gate[static_cast<std::size_t>(row)]; });
}
/// dx = gate dy; dgate = dy . x. `saved`: the gate of each row.
template <typename T>
void combine_gradient(const Pointwise& s, Count experts, const Wide<T>* route_saved, const T* x, const Wide<T>* saved,
                      const T* dy, T* dx, bool add_x, T* dgates, bool add_g) {
  using W = Wide<T>;
  const TokenRouting r = routing(s.rows, experts, route_saved + s.rows * experts);
  if (!add_g) std::fill_n(dgates, s.rows * experts, T(W(0)));
  for (Count e = 0; e < experts; ++e) {
    const Count first = r.first[static_cast<std::size_t>(e)], n = r.first[static_cast<std::size_t>(e) + 1] - first;
    each<T>(n, s.width, [&, e](Count k) {
      const Count i = first + k, t = r.token[static_cast<std::size_t>(i)];
      const T *d = dy + t * s.width, *from = x + i * s.width;
      const W gate = saved[i];
      const W dgate = row_product(s.width, d, from);
      const auto scaled = [=](Count size, const W* row, W* to) { scale_row(size, gate, row, to); };
      put_rows(0, s.width, dx + i * s.width, add_x, scaled, d);
      put(dgates + t * experts + e, dgate, add_g);
    });
  }
}

}  // namespace llmcalc::model::LLMCALC_ISA
