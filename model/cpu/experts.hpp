#pragma once
/// Mixture of experts: which token goes where, and back.

#include <vector>

#include "model/backend.hpp"
#include "model/cpu/pointwise.hpp"
#include "model/cpu/product.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// Rows of expert e are first[e] to first[e + 1]; row r is token token[r].
struct Routing {
  std::vector<Count> first, token;
};

/// Read off the gates: a token visits the experts whose gate is not negative.
template <typename G>
Routing routing(Count tokens, Count experts, const G* gates) {
  Routing r;
  for (Count e = 0; e < experts; ++e) {
    r.first.push_back(static_cast<Count>(r.token.size()));
    for (Count t = 0; t < tokens; ++t)
      if (!(wide(gates[t * experts + e]) < Wide<G>(0))) r.token.push_back(t);
  }
  r.first.push_back(static_cast<Count>(r.token.size()));
  return r;
}

/// gates: softmax of a row of logits, the top_k of it renormalised; -1 elsewhere.
template <typename T>
void route_row(const Pointwise& s, const T* logits, Wide<T>* p, Wide<T>* gates) {
  using W = Wide<T>;
  W most = wide(logits[0]), sum(0), chosen(0);
  for (Count e = 1; e < s.width; ++e) most = wide(logits[e]) > most ? wide(logits[e]) : most;
  for (Count e = 0; e < s.width; ++e) p[e] = exp_of(wide(logits[e]) - most), sum += p[e];
  for (Count e = 0; e < s.width; ++e) p[e] = p[e] / sum, gates[e] = W(-1);
  for (Count k = 0; k < s.top_k; ++k) {
    Count best = -1;
    for (Count e = 0; e < s.width; ++e)
      if (gates[e] < W(0) && (best < 0 || p[e] > p[best])) best = e;
    gates[best] = p[best];
    chosen += p[best];
  }
  for (Count e = 0; e < s.width; ++e)
    if (!(gates[e] < W(0))) gates[e] = gates[e] / chosen;
}

/// kept: rows x experts probabilities, then as many gates.
template <typename T>
void route(const Pointwise& s, const T* logits, T* gates, Wide<T>* kept) {
  using W = Wide<T>;
  const std::size_t n = static_cast<std::size_t>(s.width);
  std::vector<W> row(2 * n);
  for (Count t = 0; t < s.rows; ++t) {
    W* p = kept != nullptr ? kept + t * s.width : row.data();
    W* g = kept != nullptr ? kept + (s.rows + t) * s.width : row.data() + n;
    route_row(s, logits + t * s.width, p, g);
    for (Count e = 0; e < s.width; ++e) gates[t * s.width + e] = static_cast<T>(g[e]);
  }
}

/// With c the chosen experts' share and g = p/c the gates: dl_e = g_e (dg_e - sum g dg) for the chosen, 0 elsewhere:
/// the softmax of the chosen logits.
template <typename T>
void route_gradient(const Pointwise& s, const Wide<T>* kept, const T* dgates, T* dlogits, bool add) {
  using W = Wide<T>;
  for (Count t = 0; t < s.rows; ++t) {
    const W* g = kept + (s.rows + t) * s.width;
    const T* dg = dgates + t * s.width;
    W mean(0);
    for (Count e = 0; e < s.width; ++e)
      if (!(g[e] < W(0))) mean += g[e] * wide(dg[e]);
    for (Count e = 0; e < s.width; ++e)
      put(dlogits + t * s.width + e, g[e] < W(0) ? W(0) : g[e] * (wide(dg[e]) - mean), add);
  }
}

template <typename T>
void dispatch(const Pointwise& s, Count experts, const T* gates, const T* x, T* y) {
  const Routing r = routing(s.rows / s.top_k, experts, gates);
  each<T>(s.rows, s.width,
          [&](Count i) { std::copy_n(x + r.token[static_cast<std::size_t>(i)] * s.width, s.width, y + i * s.width); });
}
/// dx of a token: the sum over its rows, experts in order.
template <typename T>
void dispatch_gradient(const Pointwise& s, Count experts, const Wide<T>* kept, const T* dy, T* dx, bool add) {
  using W = Wide<T>;
  const Count tokens = s.rows / s.top_k;
  const Routing r = routing(tokens, experts, kept + tokens * experts);
  std::vector<W> sum(static_cast<std::size_t>(tokens * s.width), W(0));
  for (Count i = 0; i < s.rows; ++i)
    for (Count c = 0; c < s.width; ++c)
      sum[static_cast<std::size_t>(r.token[static_cast<std::size_t>(i)] * s.width + c)] += wide(dy[i * s.width + c]);
  for (Count i = 0; i < tokens * s.width; ++i) put(dx + i, sum[static_cast<std::size_t>(i)], add);
}

template <typename T>
void combine(const Pointwise& s, Count experts, const T* gates, const T* x, T* y, Wide<T>* kept) {
  using W = Wide<T>;
  const Routing r = routing(s.rows, experts, gates);
  std::vector<W> sum(static_cast<std::size_t>(s.rows * s.width), W(0));
  for (Count e = 0; e < experts; ++e)
    for (Count i = r.first[static_cast<std::size_t>(e)]; i < r.first[static_cast<std::size_t>(e) + 1]; ++i) {
      const Count t = r.token[static_cast<std::size_t>(i)];
      const W g = wide(gates[t * experts + e]);
      if (kept != nullptr) kept[i] = g;
      for (Count c = 0; c < s.width; ++c)
        sum[static_cast<std::size_t>(t * s.width + c)] += g * wide(x[i * s.width + c]);
    }
  for (Count i = 0; i < s.rows * s.width; ++i) y[i] = static_cast<T>(sum[static_cast<std::size_t>(i)]);
}
/// dx = gate dy; dgate = dy . x. `kept`: the gate of each row.
template <typename T>
void combine_gradient(const Pointwise& s, Count experts, const Wide<T>* route_kept, const T* x, const Wide<T>* kept,
                      const T* dy, T* dx, bool add_x, T* dgates, bool add_g) {
  using W = Wide<T>;
  const Routing r = routing(s.rows, experts, route_kept + s.rows * experts);
  if (!add_g) std::fill_n(dgates, s.rows * experts, T(W(0)));
  for (Count e = 0; e < experts; ++e)
    for (Count i = r.first[static_cast<std::size_t>(e)]; i < r.first[static_cast<std::size_t>(e) + 1]; ++i) {
      const Count t = r.token[static_cast<std::size_t>(i)];
      W d(0);
      for (Count c = 0; c < s.width; ++c) {
        d += wide(dy[t * s.width + c]) * wide(x[i * s.width + c]);
        put(dx + i * s.width + c, kept[i] * wide(dy[t * s.width + c]), add_x);
      }
      put(dgates + t * experts + e, d, add_g);
    }
}

}  // namespace llmcalc::model::LLMCALC_ISA
