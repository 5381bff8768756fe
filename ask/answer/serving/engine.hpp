#pragma once
/// An engine of a server: limits, memory, scheduler rules, times of its passes.

#include "ask/answer/serving/serving.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// Precondition: the request passed check_serving().
ServingEngine serving_engine(const Request& r);
/// The same without times: what it holds, and of what sequences its cache has room for.
ServingEngine serving_room(const Request& r);
/// Whether the cache holds as many.
bool holds_a_request(const Request& r, const ServingEngine& e);

/// Blocks of all engines' caches.
double all_blocks(const Request& r, const ServingEngine& e);

}  // namespace llmcalc
