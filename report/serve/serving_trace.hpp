#pragma once
/// The event log of a server, as a trace for ui.perfetto.dev or chrome://tracing.

#include <string>

#include "ask/answer/serving/serving.hpp"

namespace llmcalc {

/// A process per engine with a row per rank. Events are passes; several equal consecutive passes form one event, whose
/// args describe the first. Counters show the requests in progress and waiting, and the cache blocks in use. The rows
/// of the process "requests" show each request: "wait" until its first token, then "answer". Precondition: the run
/// recorded its passes.
std::string serving_trace(const ServingRun& run);

}  // namespace llmcalc
