#pragma once
/// Numbers of devices: which are worth trying, the best plans of each, and the fewest that reach a goal.

#include "search/search.hpp"

namespace llmcalc {

/// Runs a search: search() itself, or a program's own on several threads.
using Searching = std::function<SearchResult(const Space&)>;

/// The numbers of devices up to `most` that are worth trying: powers of two, and `most` itself.
std::vector<Count> numbers_up_to(Count most);

/// The numbers between two, in rising order, over which a model and its batch can be spread: powers of two times odd
/// factors of the batch, the heads and the layers.
std::vector<Count> even_numbers_between(const Space& space, Count low, Count high);

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
/// Tries powers of two up to the first whose best plan reaches the goal, or to `most`; then, from the fewest on, the
/// numbers below it that model and batch can be spread over, down to half of the power of two before it, which missed:
/// 30 devices can be faster than 32 that do not divide the batch. Fewer are taken to miss the goal too.
FewestGpus fewest_gpus(const Space& space, Count most, const std::function<bool(const Space&, const Found&)>& reaches,
                       const Searching& searching);

}  // namespace llmcalc
