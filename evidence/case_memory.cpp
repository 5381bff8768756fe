#include "evidence/case_memory.hpp"

#include "calc/memory.hpp"
#include "evidence/engine_memory_table.hpp"

namespace llmcalc {

namespace {

bool is_vllm(const InferenceCase& c) { return c.engine.name == "vllm"; }

EngineTerms terms_of(const InferenceCase& c) {
  if (!is_vllm(c)) return {};
  return engine_terms({minor_version(c.engine.version), ranks(c.layout, Group::tensor), c.on.hardware}, c.arch, c.plan,
                      c.layout);
}

double as_real(Bytes b) { return static_cast<double>(b.value); }

/// What vLLM tells when it starts.
std::optional<double> told_at_start(const InferenceCase& c, FigureKind quantity) {
  if (!is_vllm(c)) return std::nullopt;
  const EngineMemory m = engine_memory(c);
  if (quantity == FigureKind::cache_memory) return as_real(m.kv_cache);
  if (quantity == FigureKind::activation_memory) return as_real(m.activations);
  if (quantity == FigureKind::library_memory) return as_real(m.libraries);
  return std::nullopt;
}

}  // namespace

EngineMemory engine_memory(const InferenceCase& c) {
  return engine_memory(c.arch, c.plan, c.layout, c.granted, c.limits, terms_of(c));
}

double cache_tokens(const InferenceCase& c) {
  return static_cast<double>(mul(engine_memory(c).kv_tokens, replicas(c.layout)));
}

std::optional<double> predicted_memory(const InferenceCase& c, const Figure& f) {
  switch (f.quantity) {
    case FigureKind::cache_tokens:
      return cache_tokens(c);
    case FigureKind::memory:
      return as_real(inference_memory(c.arch, c.plan, c.layout).peak) * static_cast<double>(f.devices);
    case FigureKind::weight_memory:
      return as_real(weights_bytes(c.arch, c.plan, c.layout) + terms_of(c).padding);
    default:
      return told_at_start(c, f.quantity);
  }
}

}  // namespace llmcalc
