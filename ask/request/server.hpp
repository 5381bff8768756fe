#pragma once
/// The server of a request: limits of an engine's passes, lengths of its traffic, number of engines and GPUs.

#include "ask/request/request.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

/// Whether an engine serves the request's sequences: it limits the tokens of a pass, reserves the memory of its largest
/// pass, and gives the rest to the cache. Otherwise a prompt is one pass of any length. False without hardware, engine
/// or KV cache, and for encoder-decoder models.
bool has_engine_memory(const Request& r);
/// Whether the engine is vLLM.
bool is_vllm(const Request& r);
/// The device and ranks that determine an engine's memory.
EngineHost host_of(const Request& r);
/// The engine's per-pass limits: as specified, otherwise the engine's defaults.
EngineLimits serving_limits(const Request& r);
/// --batching, else the engine's.
Batching batching_of(const Request& r);
/// The engine's default for --memory-utilization. Precondition: the request has hardware.
double serving_utilization(const Request& r);
/// Number of tokens in a session's last request, according to --prompt and --generate; 2 if a file sets the lengths.
Count usual_tokens(const Request& r);
/// Whether a file sets the lengths.
bool has_lengths_of_its_own(const Request& r);
/// Number of engines; with --pools, of both kinds together.
Count serving_engines(const Request& r);
/// The link over which engines send each other keys and values; bandwidth 0: no link.
Link link_between_engines(const Request& r);
/// Number of GPUs of all engines.
Count serving_gpus(const Request& r);

/// Fills in the default prompt: 2048 tokens, fewer if the answer or the last turn would otherwise exceed the context.
void settle_serving(Request& r);
}  // namespace llmcalc
