#pragma once
/// Device counts: the counts to try, the best plans for each, and the smallest count that reaches a goal.

#include "search/search.hpp"

namespace llmcalc {

/// A function that runs a search: search(), or a program's multithreaded version.
using Searching = std::function<SearchResult(const Space&)>;

/// Device counts to try up to `most`: powers of two, and `most`.
std::vector<Count> numbers_up_to(Count most);

/// Whether a link connects `gpus` devices and some layout of the space uses exactly that many.
bool holds_layout(const Space& space, Count gpus);

/// Lower bound on the device-seconds of a step: the matmuls of forward and backward for every sequence at the peak
/// rate, without recomputation. Excludes memory-bound time, collectives and the optimizer.
Seconds least_device_seconds(const Space& space);

/// Lower bound on the estimated device-seconds of a step: the same matmuls at the highest rate that the software
/// reaches on the device, if known.
Seconds least_estimated_device_seconds(const Space& space);

/// The search result for one device count.
struct OfNumber {
  Count gpus = 1;
  SearchResult found;
};
/// Results for each device count of a space, up to the first stopped search. merge() combines them into the result
/// for the whole space.
std::vector<OfNumber> search_numbers(const Space& space, const Searching& searching);

/// The device counts of a space that a link can connect.
std::vector<Count> joined_numbers(const Space& space);

/// Time of a run over `tokens` tokens.
Seconds run_time(const Space& space, const Found& f, double tokens);

/// The smallest device count that reaches a goal.
struct FewestGpus {
  std::optional<Found> found{};  ///< best plan on the fewest devices; absent if no count tried reaches the goal
  std::vector<OfNumber> tried;   ///< counts tried, in increasing order
  bool stopped = false;          ///< whether the search was stopped early
};
/// Tries powers of two and `most`, until the best plan for a count reaches the goal; then, in increasing order, every
/// smaller count from `least` on for which a layout exists. Precondition: no count below `least` reaches the goal.
FewestGpus fewest_gpus(const Space& space, Count least, Count most,
                       const std::function<bool(const Space&, const Found&)>& reaches, const Searching& searching);

}  // namespace llmcalc
