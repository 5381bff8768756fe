#pragma once
/// A run of a server as a report.

#include <optional>

#include "report/report.hpp"
#include "report/serving.hpp"

namespace llmcalc {

/// The KV cache that an engine has, and what takes the rest of a GPU. `tokens`: of a sequence, for the most of them at
/// once; 0: as --prompt and --generate say.
Section engine_memory_section(const Request& r, const ServingEngine& e, Count tokens = 0);
/// Times, rates and prices of a run on a server of that capacity.
Section serving_section(const Request& r, const ServingEngine& e, const ServingRun& run, const Served& s,
                        const ServingCapacity& capacity);
/// Its capacity by the limits of a pass.
Section steady_state_section(const Request& r, const SteadyState& s);
/// A run of the request's traffic, and what it was made of.
struct WholeRun {
  Request request;  ///< settled
  ServingEngine engine;
  ServingTraffic traffic;
  ServingRun run;
  Served served;
};
/// Absent where the engine has no room.
std::optional<WholeRun> whole_run(const Request& r);
/// Its capacity by the limits of a pass. With sessions what the cache has at capacity is measured for it.
SteadyState steady_state_of(const WholeRun& w);
/// The section of a whole run of the request's traffic; without rows where the engine has no room.
Section served_section(const Request& r);
/// The section of that capacity, the same.
Section long_run_section(const Request& r);

/// "first token within 500.0 ms and 33.00 ms per token": the limits of a request.
std::string slo_text(const Request& r);
/// Adds to the verdict the mean times to the first token and per token, with their intervals.
void add_time_findings(Report& report, const Request& r, const Served& s);
/// What the times are, and how far off they may be. Precondition: the request has an engine.
std::string estimate_note(const Request& r);
/// The beginning of any report of a server.
Report serving_head(const Request& r);
/// What an engine without room for a request lacks, and what would help.
std::vector<Finding> no_room_findings(const Request& r, const ServingEngine& e);
/// The report of an engine that has no room for a request: which limit, and what would help.
Report refused_serving_report(const Request& r, const ServingEngine& e);
Report serving_report(const Request& r, const ServingEngine& e, const ServingTraffic& traffic, const ServingRun& run);

}  // namespace llmcalc
