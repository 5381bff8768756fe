#pragma once
/// Mixture of experts on a GPU: routing tokens to experts, and combining the experts' results.

#include <map>
#include <memory>
#include <vector>

#include "model/backend.hpp"
#include "model/cuda/kernels/pack.hpp"
#include "model/cuda/workspace.hpp"
#include "model/math/routing.hpp"

namespace llmcalc::model::cuda {

/// Computes the softmax of a row of logits, with the top_k renormalized and not_chosen elsewhere; ties go to the
/// lower-numbered expert.
template <typename T>
LLMCALC_HD void route_row(const Pointwise& s, const T* logits, float* p, float* gates) {
  float most = wide(logits[0]), all = 0, chosen = 0;
  for (Count e = 1; e < s.width; ++e) most = wide(logits[e]) > most ? wide(logits[e]) : most;
  for (Count e = 0; e < s.width; ++e) {
    p[e] = exp_of(wide(logits[e]) - most);
    all += p[e];
  }
  for (Count e = 0; e < s.width; ++e) {
    p[e] = p[e] / all;
    gates[e] = static_cast<float>(not_chosen);
  }
  for (Count k = 0; k < s.top_k; ++k) {
    Count best = -1;
    for (Count e = 0; e < s.width; ++e)
      if (gates[e] < 0 && (best < 0 || p[e] > p[best])) best = e;
    gates[best] = p[best];
    chosen += p[best];
  }
  for (Count e = 0; e < s.width; ++e)
    if (!(gates[e] < 0)) gates[e] = gates[e] / chosen;
}
/// `saved`: rows x experts probabilities, followed by rows x experts gates.
template <typename Device, typename T>
void route(Device& device, const Pointwise& s, const T* logits, float* saved, T* gates) {
  everywhere(device, s.rows, [=] LLMCALC_DEVICE(Count t) {
    float *const p = saved + t * s.width, *const g = saved + (s.rows + t) * s.width;
    route_row(s, logits + t * s.width, p, g);
    for (Count e = 0; e < s.width; ++e) gates[t * s.width + e] = static_cast<T>(g[e]);
  });
}
/// dl = g (dg - sum g dg) for selected experts, 0 elsewhere, as for the softmax of the selected logits.
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

/// Counts the tokens routed to each expert; a block per expert.
template <typename G>
struct RoutingCounts {
  Count tokens, experts;
  const G* gates;
  Count* counts;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count e = t.block();
    Count mine = 0;
    in_block(t, tokens, [&](Count i) { mine += wide(gates[i * experts + e]) < 0.0f ? 0 : 1; });
    const Count all = block_sum(t, mine, reinterpret_cast<Count*>(t.room()));
    if (t.index() == 0) counts[e] = all;
  }
};

/// The rows of each expert, as in model/math/routing.hpp; a block per expert. Shared memory: an element per thread.
template <typename G>
struct RoutingOrder {
  Count tokens, experts, top_k;
  const G* gates;
  const Count* counts;
  Count *first, *token, *row, *expert;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count e = t.block();
    Count* const chosen = reinterpret_cast<Count*>(t.room());
    Count at = 0;
    for (Count i = 0; i < e; ++i) at += counts[i];
    if (t.index() == 0) {
      first[e] = at;
      first[e + 1] = at + counts[e];
    }
    for (Count tile = 0; tile < tokens; tile += t.size()) {
      const Count i = tile + t.index();
      const bool here = i < tokens && visits(i, e);
      chosen[t.index()] = here ? 1 : 0;
      t.sync();
      Count before = 0, all = 0;
      for (int k = 0; k < t.size(); ++k) {
        all += chosen[k];
        before += k < t.index() ? chosen[k] : 0;
      }
      if (here) put_row(at + before, i, e);
      at += all;
      t.sync();
    }
  }
  LLMCALC_HD bool visits(Count i, Count e) const { return !(wide(gates[i * experts + e]) < 0.0f); }
  LLMCALC_HD void put_row(Count r, Count i, Count e) const {
    Count earlier = 0;
    for (Count other = 0; other < e; ++other) earlier += visits(i, other) ? 1 : 0;
    token[r] = i;
    expert[r] = e;
    row[i * top_k + earlier] = r;
  }
};

/// The routing on the device; the host reads the index of each expert's first row once.
template <typename Device>
class DeviceRouting {
 public:
  template <typename G>
  DeviceRouting(Device& device, Count tokens, Count experts, Count top_k, const G* gates)
      : device_(device), experts_(experts), rows_(tokens * top_k), numbers_(device, 2 * experts + 1 + 3 * rows_) {
    constexpr int threads = 128;
    Count* const counts = numbers_.data() + experts + 1 + 3 * rows_;
    device.launch(RoutingCounts<G>{tokens, experts, gates, counts}, experts, threads, warp * sizeof(Count));
    device.launch(RoutingOrder<G>{tokens, experts, top_k, gates, counts, part(0), part(1), part(2), part(3)}, experts,
                  threads, threads * sizeof(Count));
  }
  const Count* token() const { return part(1); }   ///< token of each row
  const Count* row() const { return part(2); }     ///< rows of each token, token by token, in expert order
  const Count* expert() const { return part(3); }  ///< expert of each row
  /// Calls f(expert, its first row, its number of rows) for each expert.
  template <typename F>
  void each_expert(const F& f) {
    if (first_.empty()) {
      first_.resize(static_cast<std::size_t>(experts_) + 1);
      device_.download(first_.data(), numbers_.data(), static_cast<Count>(first_.size() * sizeof(Count)));
    }
    for (std::size_t e = 0; e + 1 < first_.size(); ++e) f(static_cast<Count>(e), first_[e], first_[e + 1] - first_[e]);
  }

 private:
  Count* part(int i) const { return numbers_.data() + (i > 0 ? experts_ + 1 + (i - 1) * rows_ : 0); }

  Device& device_;
  Count experts_, rows_;
  DeviceWorkspace<Device, Count> numbers_;  ///< the arrays first, token, row, expert and counts
  std::vector<Count> first_;
};

/// Routings, by the tensor from which they were computed, kept for as long as operators need them.
template <typename Device>
class Routings {
 public:
  using Shared = std::shared_ptr<DeviceRouting<Device>>;
  explicit Routings(Device& device) : device_(device) {}

  template <typename G>
  Shared made(Count tokens, Count experts, Count top_k, const G* gates) const {
    return std::make_shared<DeviceRouting<Device>>(device_, tokens, experts, top_k, gates);
  }
  void keep(In tensor, const Shared& r) { all_[tensor] = r; }
  void forget(In tensor) { all_.erase(tensor); }
  void forget() { all_.clear(); }
  /// The routing saved for a tensor, or a new one.
  template <typename G>
  Shared of(In tensor, Count tokens, Count experts, Count top_k, const G* gates) const {
    const auto at = all_.find(tensor);
    return at != all_.end() ? at->second : made(tokens, experts, top_k, gates);
  }

 private:
  Device& device_;
  std::map<In, Shared> all_;
};

/// Gathers the gate of every row.
template <typename Device, typename T>
void row_gates(Device& device, Count rows, Count experts, const Count* token, const Count* expert, const T* gates,
               float* to) {
  everywhere(device, rows, [=] LLMCALC_DEVICE(Count i) { to[i] = wide(gates[token[i] * experts + expert[i]]); });
}
/// to = the sum over a token's rows of factor x row, in expert order; without factors: the sum of the rows.
template <typename Device, typename T>
void sum_rows(Device& device, Count tokens, Count top_k, const Count* row, const float* factor, Count width, const T* x,
              T* to, bool add) {
  everywhere(device, tokens * width, [=] LLMCALC_DEVICE(Count i) {
    float all = 0;
    for (Count k = i / width * top_k; k < (i / width + 1) * top_k; ++k)
      all += (factor != nullptr ? factor[row[k]] : 1.0f) * wide(x[row[k] * width + i % width]);
    put(to + i, all, add);
  });
}

}  // namespace llmcalc::model::cuda
