#include "evidence/convert/run_conversion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "evidence/convert/words/cluster_words.hpp"
#include "evidence/convert/words/engine_words.hpp"
#include "evidence/logs/served_model.hpp"
#include "evidence/names/format_name.hpp"
#include "evidence/names/inference_stack.hpp"
#include "evidence/names/words.hpp"
#include "presets/estimators/engine_memory_table.hpp"
#include "presets/estimators/engine_scheduler.hpp"
#include "presets/load.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

void use_run_model(const RecordedRun& run, RunCase& c) {
  if (run.config) {
    c.head.model = run.model;
    c.arch = run.config->arch;
    return;
  }
  const Builtin* preset = served_preset(run.model);
  if (preset == nullptr) {
    c.skip = fmt::format("no preset is named {}", in_quotes(run.model));
    return;
  }
  const ModelCard card = load_model(*preset);
  c.head.model = card.name;
  c.arch = card.arch;
}

void use_run_device(const RecordedRun& run, const Devices& devices, RunCase& c) {
  HardwareSaid said;
  said.device = run.hardware;
  said.memory_gb = run.memory_gb;
  said.bandwidth_gb_s = run.bandwidth_gb_s;
  said.count = mul(run.tensor_ranks, run.stages, run.data_ranks);
  c.on = cluster_of(said, devices);
  c.skip = c.on.skip.empty() ? without_bandwidth(said, c.on) : c.on.skip;
  c.input_assumed |= !c.on.preset;
  c.assumed.insert(c.assumed.end(), c.on.assumed.begin(), c.on.assumed.end());
}

/// Sets the run's layout. With expert parallelism, each device stores whole experts; otherwise it stores a shard of
/// every expert.
void use_run_ranks(const RecordedRun& run, RunCase& c) {
  c.layout.tp = run.tensor_ranks;
  c.layout.pp = run.stages;
  c.layout.dp = run.data_ranks;
  if (run.expert_parallel && c.arch.has_experts()) c.layout.ep = mul(run.tensor_ranks, run.data_ranks);
  if (c.layout.ep > 1) c.layout.etp = 1;
  c.layout = with_gathered_tokens(c.layout, c.cluster());
  c.layout.sp = c.layout.ep > 1 && c.layout.tp > 1;  // splits the tokens across the expert-parallel ranks
  if (flaw(c.arch, c.layout) != LayoutFlaw::none)
    c.skip = fmt::format("{} tensor-parallel and {} data-parallel ranks do not divide {}", run.tensor_ranks,
                         run.data_ranks, c.head.model);
}

/// Weight format from the run's quantization, otherwise from the model's name ("...-FP8"). Empty: the checkpoint's
/// format.
std::string run_weights(const RecordedRun& run) {
  const Words quantization(run.quantization);
  const bool by_checkpoint = quantization.silent() || quantization.says_no() || same_name(run.quantization, "auto") ||
                             same_name(run.quantization, "compressed-tensors");
  return by_checkpoint ? format_in_name(run.model) : meant_format(run.quantization);
}

void use_run_formats(const RecordedRun& run, RunCase& c) {
  const bool has_bf16 = c.cluster().device.peak(dtypes::bf16).value > 0;
  const bool unsaid = run.dtype.empty() || same_name(run.dtype, "auto");
  const std::string half = unsaid ? (has_bf16 ? "bf16" : "fp16") : meant_format(run.dtype);
  const std::string told = run_weights(run), weights = told.empty() ? half : told;
  const bool own = run.cache_dtype.empty() || same_name(run.cache_dtype, "auto");
  const FormatsSaid f =
      formats_of(weights, own ? half : run.cache_dtype, weights + " " + half, has_bf16 ? dtypes::bf16 : dtypes::fp16);
  c.skip = f.skip;
  c.assumed.insert(c.assumed.end(), f.assumed.begin(), f.assumed.end());
  c.plan.weight_precision = f.weights;
  c.plan.working = f.working;
  c.plan.kv_precision = f.cache;
  c.plan.precision = c.cluster().device.peak(f.precision).value > 0 ? f.precision : f.working;
  if (told.empty() && run.config && run.config->weights) {
    c.plan.weight_precision = *run.config->weights;
  } else if (told.empty() && same_name(run.quantization, "compressed-tensors")) {
    c.assumed.push_back(fmt::format(
        "weights in {}: the run's quantization is \"compressed-tensors\", and the model's name contains no format",
        half));
    c.input_assumed = true;
  }
  if (c.skip.empty() && c.cluster().device.peak(c.plan.precision).value <= 0)
    c.skip = fmt::format("{} does not support matmuls in {}", c.on.hardware.name, c.plan.precision.name());
}

Count limit(RunCase& c, const std::optional<Count>& said, const char* option, Count usual) {
  if (!said)
    c.assumed.push_back(fmt::format("{} {}: vLLM's default on this device; the run does not state it", option, usual));
  return said.value_or(usual);
}

/// Records two assumptions: prompts are scheduled as in the engine's profile, and a prefix cache has no hits, since a
/// run does not state which tokens its requests share.
void note_scheduling(const RecordedRun& run, RunCase& c) {
  if (run.chunked_prefill && *run.chunked_prefill == c.stack.prompts_first) {
    c.assumed.push_back(
        fmt::format("prompts {}, the engine's default: the run states {} for \"enable_chunked_prefill\"",
                    c.stack.prompts_first ? "before decoding" : "in chunks alongside decoding", *run.chunked_prefill));
    c.input_assumed = true;
  }
  if (run.prefix_caching.value_or(false))
    c.assumed.push_back("requests without shared tokens: prefix caching is on, but the run does not state its hits");
}

void use_run_engine(const RecordedRun& run, RunCase& c) {
  c.engine = engine_name(run.engine.empty() ? "" : run.engine + " " + run.version, "");
  c.engine.eager |= run.eager;
  c.stack = inference_stack(c.engine);
  if (!c.engine.known) {
    c.assumed.push_back(fmt::format("vLLM's scheduler and profile: {}", unknown_engine(run.engine)));
    c.input_assumed = true;
  }
  note_scheduling(run, c);
  const EngineLimits usual =
      default_limits(c.engine, ranks(c.layout, Group::tensor), c.on.hardware, run.max_model_len.value_or(0));
  c.limits.pass_tokens = limit(c, run.max_num_batched_tokens, "max_num_batched_tokens", usual.pass_tokens);
  c.limits.sequences = limit(c, run.max_num_seqs, "max_num_seqs", usual.sequences);
  c.limits.block_tokens = run.block_size.value_or(usual.block_tokens);
  c.plan.batch = 1;
  c.plan.memory_utilization = run.utilization.value_or(0.9);
  settle_run(c);
}

MeasurementHead head_of(const RecordedRun& run) {
  return {.id = run.name,
          .where = run.where,
          .family = run.source.title.empty() ? "not stated" : run.source.title,
          .source = run.source,
          .gpus = mul(run.tensor_ranks, run.stages, run.data_ranks)};
}

}  // namespace

RunCase run_case(const RecordedRun& run, const Devices& devices) {
  RunCase c{.head = head_of(run), .requests = run.requests, .seconds = run.seconds};
  c.skip = run.beyond;
  try {
    if (c.skip.empty()) use_run_model(run, c);
    if (c.skip.empty()) use_run_device(run, devices, c);
    if (c.skip.empty()) use_run_ranks(run, c);
    if (c.skip.empty()) use_run_formats(run, c);
    if (c.skip.empty()) use_run_engine(run, c);
  } catch (const Overflow&) {
    c.skip = "a product of its numbers exceeds 2^63";
  }
  return c;
}

}  // namespace llmcalc
