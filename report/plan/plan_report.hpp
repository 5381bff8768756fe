#pragma once
/// The best training plans of a search, as a report.

#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "search/search.hpp"

namespace llmcalc {
/// The request of one plan that was found, as if its options had been typed.
Request request_of(const Request& r, const Space& space, const Candidate& c);

/// "llmcalc train MODEL --hardware HW --tp 8 ...": what to type for a plan.
std::string command_of(const Request& r, const Candidate& c);

/// "tp 8 sp, pp 2": the degrees of a plan that differ from one GPU's.
std::string degrees_text(const Candidate& c);
/// "micro-batch 2, recompute full": how it runs.
std::string run_text(const Request& r, const Candidate& c);

/// Why a search found nothing: one that was stopped cannot say that no plan fits.
std::string nothing_fits(const SearchResult& found);

/// The plans, best first, and what was searched. `pareto`: also the front of time against memory.
Report plan_report(const Request& r, const Space& space, const SearchResult& found, bool pareto);
}  // namespace llmcalc
