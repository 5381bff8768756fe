#include "serve/pass_times.hpp"

#include <algorithm>

namespace llmcalc {

CoreWork chunk_work(Count past, Count n, const Reach& reach) {
  if (n == 0) return {};
  const Count pairs = twice_pairs(n, past, reach, AttentionFlops::causal_exact) / 2;
  return {.queries = n, .keys = past + n - reach.first(past), .pairs = pairs};
}

PassWork grown(PassWork work, const CoreGrowth& growth, Count n) {
  for (std::size_t i = 0; i < reach_kinds; ++i) work.decodes[i] += n * growth[i];
  return work;
}

PassRowTimes::PassRowTimes(Knots knots) : knots_(std::move(knots)) {}

Ticks PassRowTimes::at(Count rows) const {
  if (rows == 0 || knots_.empty()) return 0;
  const auto above =
      std::upper_bound(knots_.begin(), knots_.end(), rows, [](Count n, const auto& knot) { return n < knot.first; });
  if (above == knots_.begin() || knots_.size() == 1) return knots_.front().second;
  const auto next = above == knots_.end() ? above - 1 : above;
  const auto last = next - 1;
  return last->second + (rows - last->first) * (next->second - last->second) / (next->first - last->first);
}

namespace {

Ticks longest(const CoreTimes& lines, const CoreWork& work) {
  if (work.queries == 0) return 0;
  Ticks t = 0;
  for (const CoreRate& r : lines) t = std::max(t, r.at(work));
  return t;
}

/// The sum of n terms first, first + slope, ...
Ticks series(Ticks first, Ticks slope, Count n) { return n * first + slope * (static_cast<Ticks>(n) * (n - 1) / 2); }

/// The line that is longest for some work, and of those the one that grows most.
const CoreRate& leading(const CoreTimes& lines, const CoreWork& work, const CoreWork& growth) {
  const CoreRate* best = lines.begin();
  for (const CoreRate& r : lines) {
    const Ticks ahead = r.at(work) - best->at(work);
    if (ahead > 0 || (ahead == 0 && r.slope(growth) > best->slope(growth))) best = &r;
  }
  return *best;
}

/// Passes, at most n, until another line overtakes the leading one.
Count until_overtaken(const CoreTimes& lines, const CoreRate& lead, const CoreWork& work, const CoreWork& growth,
                      Count n) {
  for (const CoreRate& r : lines) {
    const Ticks faster = r.slope(growth) - lead.slope(growth);
    if (faster <= 0) continue;
    const Ticks passes = (lead.at(work) - r.at(work)) / faster + 1;
    if (passes < n) n = static_cast<Count>(passes);
  }
  return n;
}

/// Cores of n passes, each of `growth` more work than the one before it.
Ticks cores(const CoreTimes& lines, CoreWork work, const CoreWork& growth, Count n) {
  if (work.queries == 0 || lines.empty()) return 0;
  Ticks sum = 0;
  while (n > 0) {
    const CoreRate& lead = leading(lines, work, growth);
    const Count some = until_overtaken(lines, lead, work, growth, n);
    sum += series(lead.at(work), lead.slope(growth), some);
    work += some * growth;
    n -= some;
  }
  return sum;
}

}  // namespace

Ticks PassTimes::passes(const PassWork& w, const CoreGrowth& growth, Count n) const {
  Ticks each = rows.at(w.rows()) + experts.at(w.expert_rows.value_or(w.rows())) + head.at(w.sampled) +
               drafts.at(w.drafting) + (w.chunks + w.decoding) * sequence + w.moved_blocks * moved_block;
  if (measured) return n * each + measured->passes(w, growth, n);
  for (std::size_t i = 0; i < reach_kinds; ++i) each += longest(prompts[i], w.prompts[i]);
  Ticks sum = n * each;
  for (std::size_t i = 0; i < reach_kinds; ++i) sum += cores(decodes[i], w.decodes[i], growth[i], n);
  return sum;
}

Ticks PassTimes::pass(const PassWork& work) const { return passes(work, {}, 1); }

}  // namespace llmcalc
