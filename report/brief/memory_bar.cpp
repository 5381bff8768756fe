#include "report/brief/memory_bar.hpp"

#include <fmt/format.h>

namespace llmcalc {
namespace {

std::string bar_label(std::string_view about) {
  return about.empty() ? std::string("memory") : fmt::format("{} memory", about);
}

Bytes capacity_of(const Request& r) { return r.hardware ? r.hardware->cluster.device.memory : Bytes(); }

}  // namespace

MemoryParts training_parts(const Memory& m) {
  return {{"weights", m.weights},
          {"gradients", m.gradients},
          {"optimizer", m.optimizer},
          {"activations", m.activations},
          {"logits", m.logits},
          {"gathered weights", m.gathered},
          {"gradient buckets", m.buckets},
          {"message buffers", m.collective_call},
          {"in transit", m.transit},
          {"workspace", m.workspace},
          {"process", m.process}};
}

MemoryParts inference_parts(const Memory& m) {
  return {{"weights", m.weights},
          {"media encoders", m.media_encoders},
          {"KV cache", m.kv_cache},
          {"workspace", m.workspace},
          {"process", m.process}};
}

MemoryBar memory_bar(const TrainingAnswer& a, std::string_view about) {
  const Memory& m = a.memory();
  MemoryBar bar{bar_label(about), training_parts(m), m.peak, capacity_of(a.request())};
  const std::optional<ProcessEstimate>& process = a.process();
  if (!process) return bar;
  bar.parts.emplace_back("libraries", process->needed() - m.peak);
  bar.used = process->needed();
  bar.capacity = process->capacity;
  return bar;
}

MemoryBar memory_bar(const InferenceAnswer& a, std::string_view about) {
  const Memory& m = a.memory();
  return {bar_label(about), inference_parts(m), m.peak, capacity_of(a.fullest_request())};
}

MemoryBar memory_bar(const ServingEngine& e, Bytes capacity) {
  const EngineMemory& m = e.memory;
  const Bytes libraries = m.libraries + m.graphs + m.padding;
  const MemoryParts parts{{"weights", m.weights},   {"media encoders", m.media_encoders},
                          {"KV cache", m.kv_cache}, {"activations", m.activations},
                          {"draft model", m.draft}, {"adapters", m.adapters},
                          {"libraries", libraries}};
  Bytes used;
  for (const auto& [label, bytes] : parts) used += bytes;
  return {"memory", parts, used, capacity};
}

}  // namespace llmcalc
