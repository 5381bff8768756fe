#pragma once
/// Memory and limits of the engine that serves a request's batch, the same engine that `serve` simulates. It splits
/// prompts into chunks; its workspace grows with the prompt only under EngineLaw::whole_prompts. For requests with an
/// engine, infer, memory, report, fit and the remedies use only this memory model; without an engine, a prompt is one
/// pass (calc/memory.hpp).

#include "ask/answer/interval.hpp"
#include "ask/answer/serving/serving.hpp"
#include "calc/infer.hpp"
#include "calc/memory.hpp"

namespace llmcalc {

class EngineCapacity {
 public:
  /// Precondition of both constructors: hardware, a KV cache, and no encoder-decoder model. `engine`:
  /// serving_memory(r).
  explicit EngineCapacity(const Request& r);
  EngineCapacity(const Request& r, ServingEngine engine);

  const ServingEngine& engine() const { return engine_; }
  /// Memory that the engine may fill on one device.
  Bytes granted() const { return engine_.memory.granted; }
  /// Length in tokens of the longest sequence at the plan's batch, ignoring the model's context except for learned
  /// positions; any_length if sequences of every length fit. `r`: the constructor's request.
  Count longest(const Request& r) const;
  /// Number of sequences that fit at once, ignoring the engine's limit on sequences. Each has prompt + generate
  /// tokens or, on a server, the length of the longest request.
  Count most(const Request& r) const;
  /// most() and longest() as limits. The context limit is absent if every length fits.
  Limits limits(const Request& r) const;
  /// 90 % interval of the memory in use.
  const EstimateInterval& interval() const;
  /// Whether the plan's batch fits in device memory. Host memory is not checked.
  bool holds_batch() const { return longest_in_pass() >= tokens_; }
  /// Memory of one device, with the KV cache of the plan's batch in whole blocks. `workspace`: the engine's
  /// activations; `process`: libraries, CUDA graphs, padding, draft model and adapters. Excludes the unused part of
  /// the cache.
  Memory memory() const;

 private:
  Bytes cache() const;
  /// longest() and most() with the workspace of the plan's prompts.
  Count longest_in_pass() const;
  Count most_in_pass() const;
  /// Whether the workspace grows with the prompt.
  bool has_whole_prompts() const { return law_.whole_prompts; }

  Count batch_, tokens_, learned_rows_;
  Reach reach_;
  EngineLaw law_;
  Memory tensors_;  ///< the plan's weights and cache
  ServingEngine engine_;
  Count parts_;  ///< number of micro-batches into which a batch is split
};

/// 90 % interval of an engine's KV cache. The error of the estimate is a share of the granted memory, of which the
/// cache is the rest. Absent without an engine, without a cache, and for engines that allocate the cache first.
std::optional<RelativeInterval> cache_interval(const Request& r, const EngineMemory& m);

}  // namespace llmcalc
