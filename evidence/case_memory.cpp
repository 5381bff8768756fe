#include "evidence/case_memory.hpp"

#include <algorithm>
#include <cmath>

#include "calc/memory.hpp"
#include "evidence/names/inference_stack.hpp"
#include "presets/estimators/engine_memory_table.hpp"

namespace llmcalc {

namespace {

bool is_vllm(const InferenceCase& c) { return c.engine.name == "vllm"; }

EngineTerms terms_of(const InferenceCase& c) {
  if (!is_vllm(c)) return {};
  return engine_terms({minor_version(c.engine.version), ranks(c.layout, Group::tensor), c.on.hardware}, c.arch, c.plan,
                      c.layout);
}

double as_real(Bytes b) { return static_cast<double>(b.value); }

/// Whether the engine uses all remaining granted memory for its cache. Other engines allocate a cache for the context
/// length with which they were started.
bool has_pool(const InferenceCase& c) {
  const ServingLoop loop = inference_stack(c.engine).loop;
  return loop != ServingLoop::none && loop != ServingLoop::neuron;
}

/// Cache capacity per sequence, in tokens, of an engine without a pool.
Count context_room(const InferenceCase& c) {
  const double tokens = c.room > 0 ? c.room : c.cached + c.prompt + c.generate;
  return std::max<Count>(1, std::llround(std::min(tokens, 0x1p40)));
}

/// Cache bytes of the batch on one rank of `layout`, with context_room() tokens per sequence.
Bytes context_cache(const InferenceCase& c, const Layout& layout) {
  return cache_bytes(c.arch, c.plan, context_room(c), layout);
}

/// Activation or library memory that vLLM logs at start-up. Empty for other quantities and engines.
std::optional<double> told_at_start(const InferenceCase& c, FigureKind quantity) {
  if (!is_vllm(c)) return std::nullopt;
  const EngineMemory m = engine_memory(c);
  if (quantity == FigureKind::activation_memory) return as_real(m.activations);
  if (quantity == FigureKind::library_memory) return as_real(m.libraries);
  return std::nullopt;
}

/// Cache bytes on one device: the size of the pool or, without a pool, of a cache for the context length.
double device_cache(const InferenceCase& c) {
  return as_real(has_pool(c) ? engine_memory(c).kv_cache : context_cache(c, c.layout));
}

/// Fraction of cache bytes occupied by keys. Empty for a latent cache, which has no separate keys and values.
std::optional<double> share_of_keys(const InferenceCase& c) {
  if (c.arch.attention == AttentionKind::latent) return std::nullopt;
  const double keys = bits_per_weight(c.plan.kv_precision.keys), values = bits_per_weight(c.plan.kv_precision.values);
  return keys / (keys + values);
}

std::optional<double> part_of_cache(const InferenceCase& c, bool keys) {
  const std::optional<double> share = share_of_keys(c);
  if (!share) return std::nullopt;
  return device_cache(c) * (keys ? *share : 1 - *share);
}

/// Cache bytes on all devices.
double all_cache(const InferenceCase& c) {
  if (!has_pool(c)) return as_real(context_cache(c, {}));
  return device_cache(c) * static_cast<double>(devices(c.layout));
}

/// Memory in use. A cache with capacity for more tokens than the run uses counts in full.
double memory_in_use(const InferenceCase& c) {
  Bytes peak = inference_memory(c.arch, c.plan, c.layout).peak;
  if (c.room > 0 && !has_pool(c))
    peak =
        peak + context_cache(c, c.layout) - cache_bytes(c.arch, c.plan, add(c.plan.prompt, c.plan.generate), c.layout);
  return as_real(peak);
}

}  // namespace

EngineMemory engine_memory(const InferenceCase& c) {
  return engine_memory(c.arch, c.plan, c.layout, c.granted, c.limits, terms_of(c));
}

double cache_tokens(const InferenceCase& c) {
  return static_cast<double>(mul(engine_memory(c).kv_tokens, c.schedulers()));
}

std::optional<double> predicted_memory(const InferenceCase& c, const Figure& f) {
  switch (f.quantity) {
    case FigureKind::cache_tokens:
      return cache_tokens(c);
    case FigureKind::memory:
      return memory_in_use(c) * static_cast<double>(f.devices) / static_cast<double>(ranks(c.layout, Group::pipeline));
    case FigureKind::weight_memory:
      return as_real(weights_bytes(c.arch, c.plan, c.layout) + terms_of(c).padding);
    case FigureKind::cache_memory:
      return device_cache(c);
    case FigureKind::key_cache:
    case FigureKind::value_cache:
      return part_of_cache(c, f.quantity == FigureKind::key_cache);
    case FigureKind::context_cache:
      return all_cache(c);
    default:
      return told_at_start(c, f.quantity);
  }
}

}  // namespace llmcalc
