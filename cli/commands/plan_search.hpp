#pragma once
/// Searches for training plans on all cores, with progress, until they end or are told to stop.

#include <functional>
#include <optional>

#include "ask/request/request.hpp"
#include "cli/progress_line.hpp"
#include "search/search.hpp"

namespace llmcalc {

/// When a search may end: with all plans compared, or at the first that fits.
enum class Until : std::uint8_t { all, fit };

/// `what` begins the progress line: "8 GPUs, ". `limit`: seconds after which it stops. `line`: of a question that
/// several searches answer; null: a line of its own.
SearchResult search_on_all_cores(const Space& space, const std::string& what = "", Until until = Until::all,
                                 std::optional<double> limit = {}, ProgressLine* line = nullptr);

/// Asks a question of a space; where no plan is an answer, again with the least offload to the host with which one is.
/// `ask` says whether it has its answer, `how` being "with --offload optimizer, " or empty. The request and the space
/// become those that were asked last of all with an answer.
void ask_with_offload(Request& r, Space& space,
                      const std::function<bool(const Space& space, const std::string& how)>& ask);

/// The plans of a space, so.
SearchResult search_with_offload(Request& r, Space& space, const std::string& what = "", Until until = Until::all,
                                 ProgressLine* line = nullptr);

/// The fewest GPUs above those of the space, of twice, four times ... as many, on which some plan fits, with offload
/// where nothing else does; absent where a few seconds do not find them.
std::optional<Count> gpus_that_fit(const Request& r, const Space& space);

}  // namespace llmcalc
