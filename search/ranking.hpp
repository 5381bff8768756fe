#pragma once
/// The best plans found, and the Pareto front of time and memory.

#include <span>
#include <vector>

#include "search/space.hpp"

namespace llmcalc {

/// A plan that fits, with its time and memory.
struct Found {
  Candidate candidate{};
  Seconds step{};  ///< step time at estimated efficiencies if known, otherwise at datasheet rates, as in train()
  Bytes peak{};
  double value = 0;  ///< value of the objective
  constexpr bool operator==(const Found&) const = default;
};

/// The best `most` plans by value. Ties are broken by less memory, then less time, then the simpler plan. Plans that
/// recompute the same layers count as one.
class Best {
 public:
  explicit Best(std::size_t most) : most_(most) { list_.reserve(most + 1); }
  void add(const Found& f);
  /// Whether a plan of this value can enter the list.
  bool can_enter(double value) const { return list_.size() < most_ || value <= list_.back().value; }
  std::span<const Found> list() const { return list_; }

 private:
  std::size_t most_;
  std::vector<Found> list_;
};

/// Reorders plans whose values differ by at most 1 % by memory, smallest first. Precondition: `all` is sorted by
/// value.
void prefer_free_memory(std::vector<Found>& all);

/// The Pareto front of time and memory, by increasing memory.
class Front {
 public:
  Front() { list_.reserve(256); }
  void add(const Found& f);
  /// Whether no plan in the front has both a shorter step time and a smaller peak.
  bool can_enter(Seconds step, Bytes peak) const;
  std::span<const Found> list() const { return list_; }

 private:
  std::vector<Found> list_;
};

}  // namespace llmcalc
