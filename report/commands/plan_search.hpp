#pragma once
/// Searches for training plans, spread by a Runner, until they end or are stopped.

#include <functional>
#include <optional>

#include "ask/request/request.hpp"
#include "report/commands/runner.hpp"
#include "search/search.hpp"

namespace llmcalc {

/// When a search may end: with all plans compared, or at the first that fits.
enum class Until : std::uint8_t { all, fit };

struct SearchTask {
  std::string what{};             ///< begins the line of progress: "8 GPUs, "
  Until until = Until::all;       ///< when it may end
  std::optional<double> limit{};  ///< seconds after which it ends
  bool of_many = false;           ///< one of several searches: the time left is not known
};

SearchResult spread_search(Runner& runner, const Space& space, const SearchTask& task = {});

/// Asks a question of a space; where no plan is an answer, again with the least offload to the host with which one is.
/// `ask` says whether it has its answer, `how` being "with --offload optimizer, " or empty. The request and the space
/// become those that were asked last of all with an answer.
void ask_with_offload(Request& r, Space& space,
                      const std::function<bool(const Space& space, const std::string& how)>& ask);

/// The plans of a space, so.
SearchResult search_with_offload(Runner& runner, Request& r, Space& space, const SearchTask& task = {});

/// The fewest GPUs above those of the space, of twice, four times ... as many, on which some plan fits, with offload
/// where nothing else does; absent where a few seconds do not find them.
std::optional<Count> gpus_that_fit(Runner& runner, const Request& r, const Space& space);

}  // namespace llmcalc
