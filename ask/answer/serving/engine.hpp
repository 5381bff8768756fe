#pragma once
/// An engine of a server: limits, memory, scheduler rules, pass times.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Precondition: the request passed check_serving().
ServingEngine serving_engine(const Request& r);
/// The memory and rules of the engine, without pass times or the longest sequence.
ServingEngine serving_memory(const Request& r);
/// The engine without pass times.
ServingEngine serving_room(const Request& r);
/// Whether one request fits in the cache.
bool holds_a_request(const Request& r, const ServingEngine& e);

/// Total cache blocks of all engines.
double all_blocks(const Request& r, const ServingEngine& e);

}  // namespace llmcalc
