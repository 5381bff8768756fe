#include "search/ranking.hpp"

#include <algorithm>
#include <tuple>

namespace llmcalc {
namespace {

bool is_better(const Found& a, const Found& b) {
  const auto rank = [](const Found& f) { return std::tuple(f.value, f.peak, f.step); };
  return rank(a) != rank(b) ? rank(a) < rank(b) : simpler(a.candidate, b.candidate);
}

/// Whether `a` makes `b` redundant in the front. Among equally good plans, only the simplest is kept.
bool covers(const Found& a, const Found& b) {
  if (a.peak == b.peak && a.step == b.step) return !simpler(b.candidate, a.candidate);
  return a.peak <= b.peak && a.step <= b.step;
}

/// Whether two plans recompute the same layers: they differ at most in the number of layers to recompute, and have
/// equal times and memory, because both numbers cover whole chunks.
bool is_same_run(const Found& a, const Found& b) {
  Candidate c = a.candidate;
  c.block = b.candidate.block;
  return c == b.candidate && a.step == b.step && a.peak == b.peak && a.value == b.value;
}

}  // namespace

void Best::add(const Found& f) {
  const auto same = std::find_if(list_.begin(), list_.end(), [&](const Found& other) { return is_same_run(f, other); });
  if (same != list_.end() && !is_better(f, *same)) return;
  if (same != list_.end()) list_.erase(same);
  if (most_ == 0 || (list_.size() == most_ && !is_better(f, list_.back()))) return;
  list_.insert(std::upper_bound(list_.begin(), list_.end(), f, is_better), f);
  if (list_.size() > most_) list_.pop_back();
}

namespace {
/// The first plan of a front that needs more memory than `peak`.
auto above(const std::vector<Found>& front, Bytes peak) {
  return std::upper_bound(front.begin(), front.end(), peak, [](Bytes b, const Found& f) { return b < f.peak; });
}
}  // namespace

bool Front::can_enter(Seconds step, Bytes peak) const {
  const auto next = above(list_, peak);
  return next == list_.begin() || step <= std::prev(next)->step;
}

void Front::add(const Found& f) {
  if (!can_enter(f.step, f.peak)) return;
  auto next = above(list_, f.peak);
  if (next != list_.begin() && covers(*std::prev(next), f)) return;
  auto first = next;
  while (first != list_.begin() && covers(f, *std::prev(first))) --first;
  while (next != list_.end() && covers(f, *next)) ++next;
  list_.insert(list_.erase(first, next), f);
}

void prefer_free_memory(std::vector<Found>& all) {
  constexpr double tie = 1.01;
  for (auto from = all.begin(); from != all.end();) {
    const double most = tie * from->value;
    const auto to = std::find_if(from, all.end(), [&](const Found& f) { return f.value > most; });
    std::stable_sort(from, to, [](const Found& a, const Found& b) { return a.peak < b.peak; });
    from = to;
  }
}

}  // namespace llmcalc
