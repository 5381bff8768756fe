#include "evidence/convert/inference/inference_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "evidence/convert/inference/doubts.hpp"
#include "evidence/convert/inference/launch_scripts.hpp"
#include "evidence/convert/words/engine_words.hpp"
#include "evidence/names/inference_stack.hpp"
#include "presets/estimators/engine_memory_table.hpp"

namespace llmcalc {
namespace {

/// Sum in GiB of the memory terms logged at start-up, including the cache, which takes up all remaining memory. NaN
/// if a term is not stated.
double sum_of_terms(const InferenceRow& row) {
  double all = 0;
  for (const char* key : {"weights_gib_per_gpu", "activation_gib_per_gpu", "non_torch_gib_per_gpu", "kv_gib_per_gpu"})
    all += row.measured_at(key).value_or(std::nan(""));
  return all;
}

/// Sum of a row's memory terms as a fraction of device memory, if it differs from the stated fraction.
std::optional<double> contradicted_share(const InferenceRow& row, const InferenceCase& c) {
  const InferenceHardware& h = row.hardware;
  if (h.usable_gib || !h.total_gib) return std::nullopt;
  const double share = sum_of_terms(row) / *h.total_gib;
  const bool differs = std::abs(share - c.plan.memory_utilization) > 0.01;
  return differs ? std::optional(share) : std::nullopt;
}

void use_granted_share(const InferenceRow& row, InferenceCase& c) {
  const std::optional<double> share = contradicted_share(row, c);
  if (!share) return;
  c.assumed.push_back(fmt::format("gpu_memory_utilization {:.2f}: the row states {:g}, and its terms are {:.2f} GiB",
                                  *share, c.plan.memory_utilization, sum_of_terms(row)));
  c.plan.memory_utilization = *share;
}

/// Device memory that the engine may use, from the most direct statement in the row.
Bytes granted_by(const InferenceRow& row, const InferenceCase& c) {
  const InferenceHardware& h = row.hardware;
  if (h.usable_gib) return granted_memory(Bytes(Count{1} << 30), *h.usable_gib);
  const Bytes device =
      h.total_gib ? granted_memory(Bytes(Count{1} << 30), *h.total_gib) : visible_memory(c.on.hardware);
  return granted_memory(device, c.plan.memory_utilization);
}

/// Value of a limit: stated by the row, found in its notes, or the default, which is recorded as an assumption.
Count limit_of(const InferenceRow& row, InferenceCase& c, const std::optional<Count>& stated, const char* option,
               Count usual) {
  if (stated) return *stated;
  if (const auto said = said_option(row.notes, option)) return *said;
  if (c.kind == BatchKind::capacity)
    c.assumed.push_back(
        fmt::format("{} {}: the engine's default on such a device; the row does not state it", option, usual));
  return usual;
}

}  // namespace

void use_limits(const InferenceRow& row, InferenceCase& c) {
  const InferenceBatch& b = row.batch;
  const EngineLimits usual = default_limits(c.engine, ranks(c.layout, Group::tensor), c.on.hardware,
                                            static_cast<Count>(std::min(b.max_model_len.value_or(0), 0x1p30)));
  c.limits.pass_tokens = limit_of(row, c, b.max_num_batched_tokens, "max_num_batched_tokens", usual.pass_tokens);
  c.limits.sequences = limit_of(row, c, b.max_num_seqs, "max_num_seqs", usual.sequences);
  c.limits.block_tokens = b.block_size.value_or(usual.block_tokens);
  if (const auto script = script_limits(row, c); script && !b.max_num_batched_tokens) {
    c.limits.pass_tokens = script->pass_tokens;
    c.limits.poll_passes = script->poll_passes;
    c.assumed.push_back(fmt::format(
        "passes of {} tokens and new requests every {} decode passes: the public launch script of InferenceX",
        script->pass_tokens, script->poll_passes));
  }
  use_granted_share(row, c);
  c.granted = granted_by(row, c);
  if (!b.block_size && has_figure(row, FigureKind::cache_tokens) && row.measured_at("kv_blocks"))
    c.weigh(fmt::format("blocks of {} tokens: the row does not state \"kv_block_size\"", c.limits.block_tokens));
  if (c.kind == BatchKind::capacity && c.engine.name == "vllm" && c.engine.version.empty())
    c.assumed.push_back("the latest vLLM: the row does not state the version");
}

}  // namespace llmcalc
