#pragma once
/// The best training plans of a space.

#include <functional>

#include "search/ranking.hpp"

namespace llmcalc {

struct SearchCounts {
  Count candidates = 0;  ///< the sum of the other counts
  Count fit = 0, too_large = 0, impossible = 0;
  constexpr bool operator==(const SearchCounts&) const = default;
};

struct SearchResult {
  std::vector<Found> best;   ///< best first; see Best
  std::vector<Found> front;  ///< Pareto front of time and memory; see Front
  SearchCounts counts;
  bool stopped = false;  ///< whether the search was stopped early
};

/// When a search ends: after comparing all plans, or as soon as any plan fits, in which case the counts are incomplete.
enum class Until : std::uint8_t { all, fit };

/// Callbacks of a running search, called after every few plans and at the end.
struct Watch {
  std::function<bool()> stop{};                               ///< returns true to end the search
  std::function<void(double done, const Found*)> progress{};  ///< the completed fraction and the best plan so far
  Until until = Until::all;
};

/// One of `of` parts of a search, which can run concurrently.
struct SearchPart {
  Count index = 0, of = 1;
};

/// Compares all plans of the space or of a part. Computes the memory of every plan, and its time unless a bound shows
/// that it can enter neither list. Plans that would enter a list must also pass Space::process_fits; the counts
/// consider only whether the tensors fit in memory. train() gives the same seconds and bytes for the plans found.
/// Preconditions: the device has a peak for the plan's precision, and the device counts are positive.
SearchResult search(const Space& space, const SearchPart& part = {}, const Watch& watch = {});

/// The result of a search, merged from the results of all its parts in any order.
SearchResult merge(const Space& space, std::span<const SearchResult> parts);

}  // namespace llmcalc
