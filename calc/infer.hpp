#pragma once
/// Inference: prefill, one decode step, a whole generation, and what limits them.

#include <algorithm>
#include <optional>

#include "calc/memory.hpp"
#include "calc/pass_curve.hpp"

namespace llmcalc {

/// The prompt of every sequence at once; the head sees the last position only.
PassEstimate prefill(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster, Count tokens);

/// One new token for every sequence; `context` counts it. Without a KV cache the whole sequence is run again.
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
  PassTime first, last;  ///< and at prompt + 1, prompt + generate
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

/// The same of a function that is piecewise linear within chunks of so many i, the first from 1 on, and from chunk to
/// chunk. 0: of one that has none.
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

/// What fits into memory_utilization of the device: fed back as batch or as prompt + generate, a limit fits and one
/// more does not. Both absent without a KV cache.
struct Limits {
  std::optional<Count> max_batch;    ///< sequences of prompt + generate tokens; 0: not even one
  std::optional<Count> max_context;  ///< tokens at the plan's batch, at most the learned positions; 0: not even one
};
Limits limits(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device);

/// Context at which the cache of the plan's batch equals the weights: ceil(weights / (batch x bytes per token)). Absent
/// where no layer's cache grows for ever.
std::optional<Count> cache_equals_weights_context(const Arch& arch, const Plan& plan, const Layout& layout = {});

/// The smallest batch at which a decode step at this context does more FLOPs than the roofline's ridge allows for its
/// weights and cache; absent: never, because the cache grows with the batch.
std::optional<Count> compute_bound_batch(const Arch& arch, const Plan& plan, const Layout& layout, const Device& device,
                                         Count context);

}  // namespace llmcalc
