#pragma once
/// Inference: prefill, one decode step, a whole generation, and their limits.

#include <algorithm>
#include <optional>

#include "calc/memory.hpp"
#include "calc/pass_curve.hpp"

namespace llmcalc {

/// Prefill: the prompts of all sequences in one pass; the head sees the last position only.
PassEstimate prefill(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count tokens);

/// A decode step: one new token for every sequence; `context` counts it. Without a KV cache the whole sequence is
/// recomputed.
PassEstimate decode(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count context);

/// Time of a generation.
struct Generation {
  Seconds first_token;  ///< prefill
  Seconds total;        ///< prefill and a decode step for each further token, at the context that it has then
};
struct InferEstimate {
  Memory memory;
  PassEstimate prefill;
  PassEstimate middle;   ///< decode at context prompt + generate/2
  PassTime first, last;  ///< decode at context prompt + 1 and prompt + generate
  Generation bound, estimate;
  bool estimated = false;
};
InferEstimate infer(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster);

/// Seconds at the datasheet's rates and at those of the estimate.
struct BothSeconds {
  double bound = 0, estimate = 0;
};
constexpr BothSeconds operator+(BothSeconds a, BothSeconds b) { return {a.bound + b.bound, a.estimate + b.estimate}; }
constexpr BothSeconds operator*(double n, BothSeconds a) { return {n * a.bound, n * a.estimate}; }

/// Sum of f(i) for i in [from, to], for functions that are piecewise linear: halves the range until the middle and the
/// quarters lie on the line between its ends.
template <typename F>
BothSeconds piecewise_sum(Count from, Count to, const F& f) {
  if (to < from) return {};
  const BothSeconds a = f(from);
  if (to == from) return a;
  const BothSeconds b = f(to);
  const double n = static_cast<double>(to - from + 1);
  if (to - from == 1) return a + b;
  const auto near = [](double x, double line) { return (x - line) * (x - line) <= 1e-24 * line * line; };
  const auto on_line = [&](Count i) {
    const double x = static_cast<double>(i - from) / static_cast<double>(to - from);
    const BothSeconds line = (1 - x) * a + x * b, here = f(i);
    return near(here.bound, line.bound) && near(here.estimate, line.estimate);
  };
  const Count middle = from + (to - from) / 2;
  if (on_line(middle) && on_line(from + (to - from) / 4) && on_line(middle + (to - middle) / 2)) return n / 2 * (a + b);
  return piecewise_sum(from, middle, f) + piecewise_sum(middle + 1, to, f);
}

/// Sum of f(i) for i in [from, to], where f is piecewise linear within chunks of `chunk` numbers, the first of which
/// begins at 1, and from chunk to chunk. chunk 0: no chunks.
template <typename F>
BothSeconds piecewise_sum(Count from, Count to, Count chunk, const F& f) {
  if (chunk == 0 || to < from) return piecewise_sum(from, to, f);
  const Count first = (from - 1) / chunk, last = (to - 1) / chunk;
  const auto sum = [&](Count n) {
    return piecewise_sum(std::max(from, n * chunk + 1), std::min(to, (n + 1) * chunk), f);
  };
  const BothSeconds inside = sum(first) + piecewise_sum(first + 1, last - 1, sum);
  return last > first ? inside + sum(last) : inside;
}

/// The largest batch and context that fit into memory_utilization of the device. Both absent without a KV cache.
struct Limits {
  std::optional<Count> max_batch;    ///< sequences of prompt + generate tokens; 0: not even one fits
  std::optional<Count> max_context;  ///< tokens at the plan's batch, at most the learned positions; 0: none fits
};
Limits limits(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device);

/// Context at which the cache of the plan's batch equals the weights: ceil(weights / (batch x bytes per token)). Absent
/// where every layer's cache is bounded.
std::optional<Count> cache_equals_weights_context(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// The smallest batch at which a decode step at this context is compute-bound; absent: none, because the cache grows
/// with the batch.
std::optional<Count> compute_bound_batch(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device,
                                         Count context);

}  // namespace llmcalc
