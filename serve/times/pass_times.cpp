#include "serve/times/pass_times.hpp"

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

PassRowTimes::PassRowTimes(const Knots& knots) {
  if (knots.size() == 1) lines_.push_back({knots[0].first, knots[0].second, 0, 0, 1});
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const auto& [first, time] = knots[i - 1];
    const Count width = knots[i].first - first;
    const Ticks rise = knots[i].second - time;
    lines_.push_back({first, time, rise / width, static_cast<Count>(rise % width), width});
  }
}

Ticks PassRowTimes::at(Count rows) const {
  if (rows == 0 || lines_.empty()) return 0;
  auto line = std::upper_bound(lines_.begin(), lines_.end(), rows, [](Count n, const Line& l) { return n < l.first; });
  if (line == lines_.begin()) return line->time;
  --line;
  const Count more = rows - line->first;
  return line->time + more * line->slope + more * line->rest / line->width;
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

/// The line with the longest time for the given work; among equal lines, the one that grows fastest.
const CoreRate& leading(const CoreTimes& lines, const CoreWork& work, const CoreWork& growth) {
  const CoreRate* best = lines.begin();
  Ticks most = best->at(work);
  for (const CoreRate& r : lines) {
    const Ticks time = r.at(work);
    if (time < most || (time == most && r.slope(growth) <= best->slope(growth))) continue;
    best = &r;
    most = time;
  }
  return *best;
}

/// Number of passes, at most n, until another line overtakes the leading line.
Count until_overtaken(const CoreTimes& lines, const CoreRate& lead, const CoreWork& work, const CoreWork& growth,
                      Count n) {
  const Ticks slope = lead.slope(growth), time = lead.at(work);
  for (const CoreRate& r : lines) {
    const Ticks faster = r.slope(growth) - slope;
    if (faster <= 0) continue;
    const Ticks passes = (time - r.at(work)) / faster + 1;
    if (passes < n) n = static_cast<Count>(passes);
  }
  return n;
}

/// Time of the attention cores in n passes, each with `growth` more work than the previous pass.
Ticks cores(const CoreTimes& lines, CoreWork work, const CoreWork& growth, Count n) {
  if (work.queries == 0 || lines.empty()) return 0;
  if (n == 1) return longest(lines, work);
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
