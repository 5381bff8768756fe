#pragma once
/// Sections about a simulated run of a server.

#include "ask/answer/serving/server.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "report/serve/serving_report.hpp"

namespace llmcalc {

/// The KV cache that an engine has, and what takes the rest of a GPU. `tokens`: of a sequence, for the most of them at
/// once; 0: as --prompt and --generate say.
Section engine_memory_section(const Request& r, const ServingEngine& e, Count tokens = 0);
/// Times, rates and prices of a run on a server of that capacity.
Section serving_section(const Request& r, const ServingEngine& e, const ServingRun& run, const Served& s,
                        const ServingCapacity& capacity);
/// The section of a whole run of the request's traffic; without rows where the engine has no room.
Section served_section(const ServingAnswer& a);
/// The section of that capacity, the same.
Section long_run_section(const ServingAnswer& a);

/// Its capacity by the limits of a pass.
Section steady_state_section(const Request& r, const SteadyState& s);

}  // namespace llmcalc
