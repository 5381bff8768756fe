#pragma once
/// The best training plans of a space.

#include <functional>

#include "search/ranking.hpp"

namespace llmcalc {

struct SearchCounts {
  Count candidates = 0;  ///< the sum of the others
  Count fit = 0, too_large = 0, impossible = 0;
  constexpr bool operator==(const SearchCounts&) const = default;
};

struct SearchResult {
  std::vector<Found> best;   ///< best first; see Best
  std::vector<Found> front;  ///< of time against memory; see Front
  SearchCounts counts;
  bool stopped = false;  ///< before its end
};

/// What a search tells while it runs, after every few plans.
struct Watch {
  std::function<bool()> stop{};                               ///< true ends it
  std::function<void(double done, const Found*)> progress{};  ///< the fraction that is done, and the best so far
};

/// A part of a search that is divided, so that parts can run side by side.
struct SearchPart {
  Count index = 0, of = 1;
};

/// Compares all plans of the space, or those of a part. All of a plan's memory is counted; its time is, or a bound of
/// it shows that it comes into neither list. What is found, put into train(), gives the same seconds and bytes.
/// Preconditions: the device has a peak for the plan's precision, and the numbers of devices are positive.
SearchResult search(const Space& space, const SearchPart& part = {}, const Watch& watch = {});

/// The result of a search from those of all its parts, in any order.
SearchResult merge(const Space& space, std::span<const SearchResult> parts);

}  // namespace llmcalc
