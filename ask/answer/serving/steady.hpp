#pragma once
/// Steady-state capacity of a server from the limits of a pass.

#include <optional>
#include <string>
#include <vector>

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Steady-state capacity for the traffic. The cached tokens of prompts are taken from the run. With sessions, a
/// higher load evicts tokens earlier; an analytical model predicts the cached share at capacity. Where the model does
/// not apply (a log, or turns that go to another cache), `cached_at_capacity` is this share.
SteadyState steady_state_of(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                            const Served& served, std::optional<double> cached_at_capacity);

/// Whether some requests belong to a session.
bool has_sessions(const RequestList& all);
/// Mean lengths of the traffic, their variation, and the prefix that all prompts share. The caller sets the rate and
/// the cached tokens.
SteadyLoad mean_load(const ServingTraffic& traffic);
/// Why the steady-state capacity is unknown. Empty if it is known: one kind of engine, and no fixed
/// batches.
std::string why_no_long_run(const Request& r, const ServingEngine& e);

}  // namespace llmcalc
