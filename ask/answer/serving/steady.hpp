#pragma once
/// Capacity of a server by the limits of a pass.

#include <optional>
#include <string>
#include <vector>

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// The capacity for such traffic by the limits of a pass. What the cache had of prompts is taken from the run; of
/// sessions, whose tokens leave the cache the sooner the more come, theory says what it has at capacity, or where it
/// does not know (a log; turns that come to another cache) `cached_at_capacity`.
SteadyState steady_state_of(const Request& r, const ServingEngine& e, const ServingTraffic& traffic,
                            const Served& served, std::optional<double> cached_at_capacity);

/// Whether some requests belong to a session.
bool has_sessions(const std::vector<ServerRequest>& all);
/// Means of the traffic: lengths, how much they differ, and what all prompts have in common. The rate and what is
/// cached are the caller's.
SteadyLoad mean_load(const ServingTraffic& traffic);
/// Why no such capacity is known; empty: it is, of engines of one kind whose batches are not fixed.
std::string why_no_long_run(const Request& r, const ServingEngine& e);

}  // namespace llmcalc
