#include "report/diagnose/memory_prediction.hpp"

#include <array>

#include "ask/answer/stages.hpp"
#include "ask/request/server.hpp"
#include "evidence/names/engine_name.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "report/train/stages.hpp"

namespace llmcalc {
namespace {

struct TensorPart {
  std::string_view key, label;
  Bytes Memory::*bytes;
};
constexpr std::array tensor_parts{TensorPart{"weights", "weights", &Memory::weights},
                                  TensorPart{"gradients", "gradients", &Memory::gradients},
                                  TensorPart{"optimizer", "optimizer", &Memory::optimizer},
                                  TensorPart{"activations", "activations", &Memory::activations},
                                  TensorPart{"logits", "logits", &Memory::logits},
                                  TensorPart{"kv_cache", "KV cache", &Memory::kv_cache},
                                  TensorPart{"gathered", "gathered weights", &Memory::gathered},
                                  TensorPart{"buckets", "gradient buckets", &Memory::buckets},
                                  TensorPart{"exchange", "message buffers", &Memory::collective_call},
                                  TensorPart{"transit", "in transit", &Memory::transit},
                                  TensorPart{"workspace", "workspace", &Memory::workspace}};

/// All allocated tensors at the peak.
std::vector<PredictedShare> tensors_of(const Memory& m) {
  std::vector<PredictedShare> all;
  for (const TensorPart& part : tensor_parts)
    if (m.*part.bytes != Bytes()) all.push_back({MemoryTerm::allocated, part.key, part.label, m.*part.bytes});
  if (m.peak != m.total)
    all.push_back({MemoryTerm::allocated, "not_at_once", "not all live at once (subtracted)", m.peak - m.total});
  if (m.process != Bytes()) all.push_back({MemoryTerm::libraries, "process", "process", m.process});
  return all;
}

EngineHost host_of(const Request& r, const VllmStart& s) {
  static const HardwareCard unknown;
  return {minor_version(s.config.version), ranks(r.layout, Group::tensor), r.hardware ? *r.hardware : unknown};
}

/// Bytes of libraries: measured on this machine, else from logs of this version.
Bytes libraries_of(const Request& r, const VllmStart& s) {
  const Bytes measured = process_bytes(r);
  return measured != Bytes() ? measured : engine_terms(host_of(r, s)).libraries;
}

/// Cache bytes of the logged capacity. For layers whose cache is bounded, the logged tokens do not state it
/// (github.com/vllm-project/vllm/issues/40691): the cache of the logged concurrent requests, without states.
std::optional<Bytes> cache_of_log(const Request& r, const VllmStart& s) {
  const Arch& a = r.model.arch;
  if (has_bounded_cache(r) && s.concurrency && s.config.max_model_len) {
    const Bytes each = cache_bytes(a, r.plan, *s.config.max_model_len, r.layout) - cache_bytes(a, r.plan, 0, r.layout);
    return Bytes(std::llround(*s.concurrency * static_cast<double>(each.value)));
  }
  const auto tokens = s.cache_tokens();
  return tokens ? std::optional(*tokens * cache_bytes_per_token(a, r.plan, r.layout)) : std::nullopt;
}

std::vector<PredictedShare> server_terms(const Request& r, const VllmStart& s) {
  const Bytes activations = profiled_activations(r.model.arch, r.plan, r.layout, server_limits(r, s),
                                                 engine_terms(host_of(r, s)).logit_bytes);
  std::vector<PredictedShare> all{
      {MemoryTerm::weights, "weights", "weights", weights_bytes(r.model.arch, r.plan, r.layout) + server_padding(r, s)},
      {MemoryTerm::activations, "activations", "activations", activations}};
  if (const auto cache = cache_of_log(r, s)) all.push_back({MemoryTerm::kv_cache, "kv_cache", "KV cache", *cache});
  all.push_back({MemoryTerm::libraries, "process", "process", libraries_of(r, s)});
  return all;
}

/// The term under which a booking counts `t`: the term itself, several joined terms, or all tensors.
MemoryTerm standing_for(MemoryTerm t, const MemoryBooking& b) {
  if (b.term(t)) return t;
  const bool weights = t == MemoryTerm::weights, libraries = t == MemoryTerm::libraries;
  if (!libraries && b.term(MemoryTerm::allocated)) return MemoryTerm::allocated;
  if ((weights || libraries) && b.term(MemoryTerm::weights_and_libraries)) return MemoryTerm::weights_and_libraries;
  const bool beside = libraries || t == MemoryTerm::activations;
  return beside && b.term(MemoryTerm::activations_and_libraries) ? MemoryTerm::activations_and_libraries : t;
}

std::vector<PredictedShare> joined(std::vector<PredictedShare> all, const MemoryBooking& b) {
  for (PredictedShare& p : all) p.of = standing_for(p.of, b);
  return all;
}

}  // namespace

bool has_bounded_cache(const Request& r) {
  const Arch& a = r.model.arch;
  return cache_bytes(a, r.plan, a.context, r.layout) != a.context * cache_bytes_per_token(a, r.plan, r.layout);
}

EngineLimits server_limits(const Request& r, const VllmStart& s) {
  EngineLimits limits = usual_limits(host_of(r, s), s.config.max_model_len.value_or(0));
  if (r.gave("--prompt")) limits.pass_tokens = r.plan.prompt;
  limits.pass_tokens = s.config.batched_tokens.value_or(limits.pass_tokens);
  limits.sequences = s.config.sequences.value_or(limits.sequences);
  return limits;
}

Bytes server_padding(const Request& r, const VllmStart& s) {
  return expert_padding(host_of(r, s), r.model.arch, r.plan, r.layout);
}

std::vector<PredictedShare> predicted_memory(const Request& r, const MemoryLog& log, const MemoryBooking& booking) {
  const bool training = r.has(part::training);
  if (!training && log.vllm.says_memory()) return joined(server_terms(r, log.vllm), booking);
  if (training) return tensors_of(stages_of(r).fullest().memory);
  return tensors_of(inference_memory(r.model.arch, r.plan, r.layout, process_bytes(r)));
}

std::optional<Bytes> predicted_for(const std::vector<PredictedShare>& all, MemoryTerm term) {
  std::optional<Bytes> sum;
  for (const PredictedShare& p : all)
    if (p.of == term) sum = sum.value_or(Bytes()) + p.bytes;
  return sum;
}

}  // namespace llmcalc
