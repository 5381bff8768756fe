#pragma once
/// Searches for training plans, distributed by a Runner. A search runs to the end unless it is stopped.

#include <functional>
#include <optional>

#include "ask/request/request.hpp"
#include "report/commands/runner.hpp"
#include "search/search.hpp"

namespace llmcalc {

struct SearchTask {
  std::string what{};             ///< start of the progress line: "8 GPUs, "
  Until until = Until::all;       ///< when the search may end
  std::optional<double> limit{};  ///< time limit in seconds
  bool of_many = false;           ///< whether this is one of several searches, so the remaining time is unknown
};

SearchResult spread_search(Runner& runner, const Space& space, const SearchTask& task = {});

/// Calls `ask` for a space. If `ask` finds no answer, retries with offload to the host, fewest bytes first, until it
/// finds one. `ask` returns whether it found an answer; `how` is "with --offload optimizer, " or empty. Sets the
/// request and the space to those with the answer.
void ask_with_offload(Request& r, Space& space,
                      const std::function<bool(const Space& space, const std::string& how)>& ask);

/// Searches a space, with offload if no plan fits without it.
SearchResult search_with_offload(Runner& runner, Request& r, Space& space, const SearchTask& task = {});

/// The smallest power-of-two number of GPUs, above the space's number, on which some plan fits, with offload if no
/// plan fits without it. Absent if not found within a few seconds.
std::optional<Count> gpus_that_fit(Runner& runner, const Request& r, const Space& space);

}  // namespace llmcalc
