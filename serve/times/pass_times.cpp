#include "serve/times/pass_times.hpp"

#include <algorithm>
#include <bit>

#include "serve/times/pass_series.hpp"

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

namespace {

std::size_t bits_of(Count n) { return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(n))); }

}  // namespace

PassRowTimes::PassRowTimes(const Knots& knots) {
  if (knots.size() == 1) lines_.push_back({knots[0].first, knots[0].second, 0, 0, 1});
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const auto& [first, time] = knots[i - 1];
    const Count width = knots[i].first - first;
    const Ticks rise = knots[i].second - time;
    lines_.push_back({first, time, rise / width, static_cast<Count>(rise % width), width});
  }
  for (std::size_t i = 0; i < lines_.size(); ++i)
    for (std::size_t bits = bits_of(2 * lines_[i].first - 1); bits < near_.size(); ++bits)
      near_[bits] = static_cast<std::uint32_t>(i);
}

Ticks PassRowTimes::at(Count rows) const {
  if (rows == 0 || lines_.empty()) return 0;
  std::size_t i = near_[bits_of(rows)];
  while (i + 1 < lines_.size() && lines_[i + 1].first <= rows) ++i;
  const Line& line = lines_[i];
  if (rows < line.first) return line.time;
  const Count more = rows - line.first;
  return line.time + more * line.slope + more * line.rest / line.width;
}

Ticks longest(const CoreTimes& lines, const CoreWork& work) {
  if (work.queries == 0) return 0;
  Ticks t = 0;
  for (const CoreRate& r : lines) t = std::max(t, r.at(work));
  return t;
}

Ticks PassTimes::without_cores(const PassWork& w) const {
  return rows.at(w.rows()) + experts.at(w.expert_rows.value_or(w.rows())) + head.at(w.sampled) + drafts.at(w.drafting) +
         (w.chunks + w.decoding) * sequence + w.moved_blocks * moved_block;
}

Ticks PassTimes::without_decodes(const PassWork& w) const {
  Ticks sum = without_cores(w);
  for (std::size_t i = 0; i < reach_kinds; ++i) sum += longest(prompts[i], w.prompts[i]);
  return sum;
}

Ticks PassTimes::passes(const PassWork& w, const CoreGrowth& growth, Count n) const {
  if (measured) return n * without_cores(w) + measured->passes(w, growth, n);
  return PassSeries(*this, w, growth).passes(n);
}

Ticks PassTimes::pass(const PassWork& w) const {
  if (measured) return passes(w, {}, 1);
  Ticks sum = without_decodes(w);
  for (std::size_t i = 0; i < reach_kinds; ++i) sum += longest(decodes[i], w.decodes[i]);
  return sum;
}

}  // namespace llmcalc
