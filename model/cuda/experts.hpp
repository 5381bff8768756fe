#pragma once
/// Mixture of experts on a GPU: which token goes where, and back.

#include <vector>

#include "model/backend.hpp"
#include "model/cuda/pack.hpp"
#include "model/cuda/room.hpp"
#include "model/math/routing.hpp"

namespace llmcalc::model::cuda {

/// Softmax of a row of logits, the top_k of it renormalised; -1 elsewhere; ties to the lower expert.
template <typename T>
LLMCALC_HD void route_row(const Pointwise& s, const T* logits, float* p, float* gates) {
  float most = wide(logits[0]), all = 0, chosen = 0;
  for (Count e = 1; e < s.width; ++e) most = wide(logits[e]) > most ? wide(logits[e]) : most;
  for (Count e = 0; e < s.width; ++e) p[e] = exp_of(wide(logits[e]) - most), all += p[e];
  for (Count e = 0; e < s.width; ++e) p[e] = p[e] / all, gates[e] = -1;
  for (Count k = 0; k < s.top_k; ++k) {
    Count best = -1;
    for (Count e = 0; e < s.width; ++e)
      if (gates[e] < 0 && (best < 0 || p[e] > p[best])) best = e;
    gates[best] = p[best], chosen += p[best];
  }
  for (Count e = 0; e < s.width; ++e)
    if (!(gates[e] < 0)) gates[e] = gates[e] / chosen;
}
/// kept: rows x experts probabilities, then as many gates.
template <typename Device, typename T>
void route(Device& device, const Pointwise& s, const T* logits, float* kept, T* gates) {
  everywhere(device, s.rows, [=] LLMCALC_DEVICE(Count t) {
    float *const p = kept + t * s.width, *const g = kept + (s.rows + t) * s.width;
    route_row(s, logits + t * s.width, p, g);
    for (Count e = 0; e < s.width; ++e) gates[t * s.width + e] = static_cast<T>(g[e]);
  });
}
/// dl = g (dg - sum g dg) for the chosen, 0 elsewhere: of the softmax of the chosen logits.
template <typename Device, typename T>
void route_gradient(Device& device, const Pointwise& s, const float* g, const T* dgates, T* dlogits, bool add) {
  everywhere(device, s.rows, [=] LLMCALC_DEVICE(Count t) {
    float mean = 0;
    for (Count i = t * s.width; i < (t + 1) * s.width; ++i)
      if (!(g[i] < 0)) mean += g[i] * wide(dgates[i]);
    for (Count i = t * s.width; i < (t + 1) * s.width; ++i)
      put(dlogits + i, g[i] < 0 ? 0.0f : g[i] * (wide(dgates[i]) - mean), add);
  });
}

/// to = the sum over a token's rows of factor x row, experts in order.
template <typename Device, typename T>
void sum_rows(Device& device, const Routing& r, const std::vector<float>& factor, Count width, const T* x, T* to,
              bool add) {
  const Room<Device, Count> rows(device, r.row);
  const Room<Device, float> factors(device, factor);
  const Count top_k = r.top_k, tokens = static_cast<Count>(r.row.size()) / std::max<Count>(1, top_k);
  const Count* const row = rows.data();
  const float* const by = factors.data();
  everywhere(device, tokens * width, [=] LLMCALC_DEVICE(Count i) {
    float all = 0;
    for (Count k = i / width * top_k; k < (i / width + 1) * top_k; ++k)
      all += by[row[k]] * wide(x[row[k] * width + i % width]);
    put(to + i, all, add);
  });
}

}  // namespace llmcalc::model::cuda
