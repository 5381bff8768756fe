#pragma once
/// Numbers of devices: which are worth trying, the best plans of each, and the fewest that reach a goal.

#include "search/search.hpp"

namespace llmcalc {

/// Runs a search: search() itself, or a program's own on several threads.
using Searching = std::function<SearchResult(const Space&)>;

/// The numbers of devices up to `most` that are worth trying: powers of two, and `most` itself.
std::vector<Count> numbers_up_to(Count most);

/// Whether a number of devices is joined by a link and some layout of the space can be laid over it.
bool holds_layout(const Space& space, Count gpus);

/// Device-seconds of a step below which no plan comes: the products of forward and backward of every sequence at the
/// peak, nothing computed twice. Left out: all that takes longer by its memory traffic, exchanges, the optimizer.
Seconds least_device_seconds(const Space& space);

/// The plans of one number of devices, searched by themselves.
struct OfNumber {
  Count gpus = 1;
  SearchResult found;
};
/// Those of every number of a space, as far as no search was stopped. merge() of them is the search of the space.
std::vector<OfNumber> search_numbers(const Space& space, const Searching& searching);

/// The numbers of devices of a space that some link joins.
std::vector<Count> joined_numbers(const Space& space);

/// Seconds of a run of that number of tokens.
Seconds run_time(const Space& space, const Found& f, double tokens);

/// The fewest devices that reach a goal.
struct FewestGpus {
  std::optional<Found> found{};  ///< the best plan on them; absent: no number that was tried reaches it
  std::vector<OfNumber> tried;   ///< in rising order
  bool stopped = false;          ///< before the end
};
/// Tries powers of two up to the first whose best plan reaches the goal, and `most`; then every number from `least` on
/// below that, the fewest first, that holds a layout. No number below `least` may reach the goal.
FewestGpus fewest_gpus(const Space& space, Count least, Count most,
                       const std::function<bool(const Space&, const Found&)>& reaches, const Searching& searching);

}  // namespace llmcalc
