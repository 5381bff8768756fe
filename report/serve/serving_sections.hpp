#pragma once
/// Sections about a simulated run of a server.

#include "ask/answer/serving/server.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/serving/steady.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"
#include "report/serve/serving_report.hpp"

namespace llmcalc {

/// An engine's KV cache and the other memory terms of a GPU. `tokens`: length of the sequences whose maximum number is
/// shown; 0: from --prompt and --generate.
Section engine_memory_section(const Request& r, const ServingEngine& e, Count tokens = 0);
/// Times, rates and prices of a run on a server of this capacity.
Section serving_section(const Request& r, const ServingEngine& e, const ServingRun& run, const Served& s,
                        const ServingCapacity& capacity);
/// The section of a whole run of the request's traffic; without rows if the engine cannot hold a request.
Section served_section(const ServingAnswer& a);
/// The section of the server's steady-state capacity; without rows if the engine cannot hold a request.
Section long_run_section(const ServingAnswer& a);

/// The steady-state capacity from the limits of a pass.
Section steady_state_section(const Request& r, const SteadyState& s);

}  // namespace llmcalc
