#include "report/diagnose/memory_prediction.hpp"

#include <array>
#include <cmath>

#include "ask/answer/stages.hpp"
#include "ask/request/server.hpp"
#include "calc/memory.hpp"
#include "evidence/names/engine_name.hpp"
#include "presets/estimators/engine_limits.hpp"
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

EngineHost host_of(const Request& r, const ServerStart& s) {
  static const HardwareCard unknown;
  return {s.server == LoggedServer::vllm ? minor_version(s.config.version) : std::nullopt,
          ranks(r.layout, Group::tensor), r.hardware ? *r.hardware : unknown};
}

/// Bytes of libraries: as measured on this machine, otherwise from logs of this version of vLLM.
Bytes libraries_of(const Request& r, const ServerStart& s) {
  const Bytes measured = process_bytes(r);
  return measured != Bytes() || s.server != LoggedServer::vllm ? measured : engine_terms(host_of(r, s)).libraries;
}

double logit_bytes_of(const Request& r, const ServerStart& s) {
  if (s.server == LoggedServer::vllm) return engine_terms(host_of(r, s)).logit_bytes;
  if (!r.engine || !r.engine->server) return 0;
  const EngineLimits limits = server_limits(r, s);
  const EngineLaw& law = *r.engine->server;
  return law.logit_bytes_per_sequence + law.logit_bytes_per_token * real(limits.pass_tokens) / real(limits.sequences);
}

/// The first device's part of `all`, in proportion to its share of the logged buffers.
Bytes device_part(Bytes all, const std::optional<LoggedBytes>& own, Bytes logged) {
  if (!own || logged <= Bytes() || own->bytes == logged) return all;
  return Bytes(std::llround(real(all.value) * (real(own->bytes.value) / real(logged.value))));
}

/// Whether the weights on the host are only the token embedding: `table` bytes, to within 1 %.
bool is_table(Bytes host, Bytes table) {
  constexpr double alike = 0.01;
  return std::fabs(real(host.value) - real(table.value)) <= alike * real(table.value);
}

/// Weights on the first device. llama.cpp keeps the token embedding on the host; a tied embedding is also on the
/// device. If the host has more than the embedding, the host and device buffers together add up to the file. Absent
/// if mapped parts of the file are also on a device.
std::optional<Bytes> weights_of_log(const Request& r, const ServerStart& s) {
  const Arch& a = r.model.arch;
  const Bytes all = weights_bytes(a, r.plan, r.layout) + server_padding(r, s);
  if (!is_llama(s.server) || !s.memory.weights) return all;
  const BufferSpread& b = s.spread;
  const Bytes table = held_bytes(price_holdings(a, r.plan, r.layout), r.plan.weight_precision, Component::embedding);
  if (b.all_layers && is_table(b.host_weights, table))
    return device_part(a.tied_head ? all : all - table, s.memory.weights, b.device_weights);
  const Bytes logged = b.device_weights + b.host_weights;
  if (b.mapped && logged > all + table) return std::nullopt;
  return device_part(all, s.memory.weights, logged);
}

/// Cache bytes at the logged capacity. If some layers have a bounded cache, the logged tokens do not determine the
/// bytes (github.com/vllm-project/vllm/issues/40691); the bytes are then computed for the logged number of concurrent
/// requests, without states.
std::optional<Bytes> cache_of_log(const Request& r, const ServerStart& s) {
  const Arch& a = r.model.arch;
  if (has_bounded_cache(r) && s.concurrency && s.config.max_model_len) {
    const Bytes each = cache_bytes(a, r.plan, *s.config.max_model_len, r.layout) - cache_bytes(a, r.plan, 0, r.layout);
    return Bytes(std::llround(*s.concurrency * static_cast<double>(each.value)));
  }
  const auto tokens = s.cache_tokens();
  if (!tokens) return std::nullopt;
  return device_part(*tokens * cache_bytes_per_token(a, r.plan, r.layout), s.memory.kv_cache, s.spread.cache);
}

/// Whether the memory of the largest pass is modeled: vLLM's profiling pass, or the graph that llama.cpp reserves,
/// which depends on the build of llama.cpp.
bool has_pass_law(const ServerStart& s) {
  return s.server == LoggedServer::vllm || (s.server == LoggedServer::llama_cpp && !s.config.version.empty());
}

std::vector<PredictedShare> server_terms(const Request& r, const ServerStart& s) {
  std::vector<PredictedShare> all;
  if (const auto weights = weights_of_log(r, s)) all.push_back({MemoryTerm::weights, "weights", "weights", *weights});
  if (has_pass_law(s))
    all.push_back({MemoryTerm::activations, "activations", "activations",
                   profiled_activations(r.model.arch, r.plan, r.layout, server_limits(r, s), logit_bytes_of(r, s))});
  if (const auto cache = cache_of_log(r, s)) all.push_back({MemoryTerm::kv_cache, "kv_cache", "KV cache", *cache});
  const Bytes libraries = libraries_of(r, s);
  if (s.server == LoggedServer::vllm || libraries != Bytes())
    all.push_back({MemoryTerm::libraries, "process", "process", libraries});
  return all;
}

/// The term of the breakdown that includes `t`: `t` itself, a term that combines several terms, or all tensors.
MemoryTerm standing_for(MemoryTerm t, const MemoryBooking& b) {
  if (b.term(t)) return t;
  const bool weights = t == MemoryTerm::weights, libraries = t == MemoryTerm::libraries;
  if (!libraries && b.term(MemoryTerm::allocated)) return MemoryTerm::allocated;
  if ((weights || libraries) && b.term(MemoryTerm::weights_and_libraries)) return MemoryTerm::weights_and_libraries;
  if (libraries && b.term(MemoryTerm::libraries_and_free)) return MemoryTerm::libraries_and_free;
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

EngineLimits server_limits(const Request& r, const ServerStart& s) {
  const bool has_law = s.server != LoggedServer::vllm && r.engine;
  EngineLimits limits =
      default_limits(host_of(r, s), has_law ? r.engine->server : std::nullopt, s.config.max_model_len.value_or(0));
  if (r.gave("--prompt")) limits.pass_tokens = r.plan.prompt;
  limits.pass_tokens = s.config.batched_tokens.value_or(limits.pass_tokens);
  limits.sequences = s.config.sequences.value_or(limits.sequences);
  return limits;
}

Bytes server_padding(const Request& r, const ServerStart& s) {
  if (s.server != LoggedServer::vllm) return {};
  return expert_padding(host_of(r, s), r.model.arch, r.plan, r.layout);
}

std::vector<PredictedShare> predicted_memory(const Request& r, const MemoryLog& log, const MemoryBooking& booking) {
  const bool training = r.has(part::training);
  if (!training && log.is_of_server()) return joined(server_terms(r, log.server), booking);
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
