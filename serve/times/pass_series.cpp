#include "serve/times/pass_series.hpp"

#include <algorithm>

namespace llmcalc {
namespace {

constexpr Count endless = PassSeries::most;

/// The sum of n terms first, first + slope, ...
Ticks series(Ticks first, Ticks slope, Count n) { return n * first + slope * (static_cast<Ticks>(n) * (n - 1) / 2); }

/// The time of a line in the next pass, and its growth per pass.
struct Course {
  Ticks time, slope;
};
using Courses = InplaceVector<Course, CoreTimes::capacity>;

Courses courses_of(const CoreTimes& lines, const CoreWork& work, const CoreWork& growth) {
  Courses all;
  for (const CoreRate& r : lines) all.push({r.at(work), r.slope(growth)});
  return all;
}

/// The line with the longest time; among equal lines, the one that grows fastest.
Course leading(const Courses& lines) {
  Course best = lines[0];
  for (const Course& c : lines)
    if (c.time > best.time || (c.time == best.time && c.slope > best.slope)) best = c;
  return best;
}

/// Number of passes until another line overtakes the leading line.
Count until_overtaken(const Courses& lines, const Course& lead) {
  Count n = endless;
  for (const Course& c : lines) {
    if (c.slope <= lead.slope) continue;
    const Ticks passes = (lead.time - c.time) / (c.slope - lead.slope) + 1;
    if (passes < n) n = static_cast<Count>(passes);
  }
  return n;
}

}  // namespace

PassSeries::PassSeries(const PassTimes& times, const PassWork& work, const CoreGrowth& growth)
    : each_(times.without_decodes(work)), first_(each_) {
  for (std::size_t i = 0; i < reach_kinds; ++i)
    if (work.decodes[i].queries > 0 && !times.decodes[i].empty()) add(times.decodes[i], work.decodes[i], growth[i]);
}

/// Adds the pieces of the cores of one reach, until the line that grows fastest leads.
void PassSeries::add(const CoreTimes& cores, const CoreWork& work, const CoreWork& growth) {
  Courses lines = courses_of(cores, work, growth);
  for (Count begin = 0; begin < endless;) {
    const Course lead = leading(lines);
    if (begin == 0) first_ += std::max<Ticks>(0, lead.time);
    const Count n = std::min(until_overtaken(lines, lead), endless - begin);
    pieces_.push({begin, begin + n, lead.time, lead.slope});
    begin += n;
    for (auto& c : lines) c.time += n * c.slope;
  }
}

Ticks PassSeries::passes(Count n) const {
  if (n == 1) return first_;
  Ticks sum = n * each_;
  for (const Piece& p : pieces_)
    if (p.begin < n) sum += series(p.time, p.slope, std::min(n, p.end) - p.begin);
  return sum;
}

}  // namespace llmcalc
