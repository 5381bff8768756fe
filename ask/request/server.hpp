#pragma once
/// The server of a request: limits of an engine's passes, lengths of its traffic, number of engines and GPUs.

#include "ask/request/request.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

/// Whether the engine is vLLM.
bool is_vllm(const Request& r);
/// The device and ranks that an engine's memory depends on.
EngineHost host_of(const Request& r);
/// The limits of its passes: as asked for, else the engine's own.
EngineLimits serving_limits(const Request& r);
/// Tokens of the last request of a session, as --prompt and --generate say; 2 where a file has the lengths.
Count usual_tokens(const Request& r);
/// Whether a file has the lengths.
bool has_lengths_of_its_own(const Request& r);
/// Engines, of both kinds where there are two.
Count serving_engines(const Request& r);
/// The link over which engines send each other keys and values; bandwidth 0: there is none.
Link link_between_engines(const Request& r);
/// GPUs of all engines.
Count serving_gpus(const Request& r);

/// Fills in the prompt's default: 2048 tokens, fewer where the context ends before the answer, or the last turn, does.
void settle_serving(Request& r);
}  // namespace llmcalc
