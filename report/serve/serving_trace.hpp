#pragma once
/// The event log of a server, as a trace for ui.perfetto.dev or chrome://tracing.

#include <string>

#include "ask/answer/serving/serving.hpp"

namespace llmcalc {

/// A process for each engine, a row for each of its ranks: passes, several alike in a row as one event, whose args say
/// what the first held; below it curves of requests in progress and waiting, and of the blocks of the cache in use. The
/// rows of process "requests" hold each request: "wait" until its first token, then "answer". Precondition: the run
/// kept its passes.
std::string serving_trace(const ServingRun& run);

}  // namespace llmcalc
