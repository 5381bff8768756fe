#pragma once
/// The best plans that were seen, and the front of time against memory.

#include <span>
#include <vector>

#include "search/space.hpp"

namespace llmcalc {

/// A plan that fits, and what it takes.
struct Found {
  Candidate candidate{};
  Seconds step{};  ///< at estimated efficiencies, else at the datasheet's rates: as train() says
  Bytes peak{};
  double value = 0;  ///< of the objective
  constexpr bool operator==(const Found&) const = default;
};

/// The best `most` plans by value; of equal ones those with less memory, then less time, then the simpler. Plans that
/// run the same layers again are one.
class Best {
 public:
  explicit Best(std::size_t most) : most_(most) { list_.reserve(most + 1); }
  void add(const Found& f);
  /// Whether a plan of this value can get among them.
  bool can_enter(double value) const { return list_.size() < most_ || value <= list_.back().value; }
  std::span<const Found> list() const { return list_; }

 private:
  std::size_t most_;
  std::vector<Found> list_;
};

/// Plans of which none is at least as good in time and in memory as another; less memory first.
class Front {
 public:
  Front() { list_.reserve(256); }
  void add(const Found& f);
  /// Whether no plan is both faster and smaller.
  bool can_enter(Seconds step, Bytes peak) const;
  std::span<const Found> list() const { return list_; }

 private:
  std::vector<Found> list_;
};

}  // namespace llmcalc
