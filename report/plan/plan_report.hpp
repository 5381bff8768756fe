#pragma once
/// The best training plans of a search, as a report.

#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "search/search.hpp"

namespace llmcalc {
/// The request for one plan, as if its options had been typed.
Request request_of(const Request& r, const Space& space, const Candidate& c);

/// The command for a plan: "llmcalc train MODEL --hardware HW --tp 8 ...".
std::string command_of(const Request& r, const Candidate& c);

/// The parallel degrees above 1: "tp 8 sp, pp 2".
std::string degrees_text(const Candidate& c);
/// The other settings of a plan: "micro-batch 2, recompute full".
std::string run_text(const Request& r, const Candidate& c);

/// Why a search is empty; a stopped search cannot conclude that no plan fits.
std::string nothing_fits(const SearchResult& found);

/// The plans, best first, and the extent of the search. `pareto`: also the front of time against memory.
Report plan_report(const Request& r, const Space& space, const SearchResult& found, bool pareto);
}  // namespace llmcalc
