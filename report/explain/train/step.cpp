#include <fmt/format.h>

#include "ask/answer/conventions.hpp"
#include "ask/answer/interval.hpp"
#include "calc/textbook/weights.hpp"
#include "report/explain/interval.hpp"
#include "report/explain/modules.hpp"
#include "report/explain/pass_time.hpp"
#include "report/explain/sum.hpp"
#include "report/explain/train/pipeline.hpp"
#include "report/explain/train/ring.hpp"
#include "report/interval.hpp"
#include "report/train/training_sections.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// The sum of a step's parts, optionally without one of them.
Formula sum_of_parts(S s, std::string_view without = "") {
  Formula f;
  for (std::size_t i = 0; i < part_count; ++i) {
    const std::string_view name = part_names[i];
    if (name == without) continue;
    const std::string path = fmt::format("step.breakdown_s.{}", name);
    const std::string symbol = fmt::format("t_{}", name);
    if (s.number(path) == "0" || (s.row("step.time_s") != nullptr && s.row(path) == nullptr)) continue;
    f.expression += (f.expression.empty() ? "" : " + ") + symbol;
    f.own.push_back({symbol, fmt::format("{}, s", part_label(static_cast<Part>(i))), s.number(path)});
  }
  return f;
}
Formula bound_time(S s) {
  return {"t_step", {{"t_step", "sum of the parts at full efficiency, s", number_text(s.train().bound.total().value)}}};
}

/// Number of passes through all layers per GPU, averaged over the stages: "m", "m/P".
std::string repeats(S s) {
  const std::string m = micro_batches(s.plan(), s.layout()) > 1 ? "m" : "";
  if (ranks(s.layout(), Group::pipeline) == 1) return m;
  return (m.empty() ? "1" : m) + "/P";
}
/// Whether the step has only the work of one GPU or one tensor-parallel group.
bool is_one_group(S s) {
  const Layout& l = s.layout();
  return ranks(l, Group::pipeline) == 1 && ranks(l, Group::data) == 1 && !folds_experts(l) && !trains_part(s.plan()) &&
         !s.plan().offload.any() && !traits(s.plan().optimizer).orthogonalizes &&
         (!s.tensor_parallel() || is_one_ring(s));
}

/// Time of the optimizer's update: states are read and written once; weights are also read if there is no master copy.
std::string optimizer_text(S s, bool bound) {
  const bool master = s.plan().master && training_weights(s.plan()).format().element_bits < 32;
  const char* read = s.plan().gradient_bytes > 4 ? "2*M_o + 4*M_g/p_g + " : "2*M_o + M_g + ";
  return ratio(read + std::string(master ? "M_w" : "2*M_w"), memory_rate(s, bound));
}
/// The update's time. If ranks update shards, or stages hold different states, the mean over the stages.
Formula update_time(S s) {
  const bool muon = traits(s.plan().optimizer).orthogonalizes;
  if (!muon && !trains_part(s.plan()) && !s.plan().offload.any() && ranks(s.layout(), Group::pipeline) == 1 &&
      s.layout().zero == Zero::none)
    return {optimizer_text(s, false)};
  if (muon)
    return from_engine(s, "t_opt",
                       "memory traffic (states read and written, gradients read, weights written) / bandwidth, plus "
                       "max(FLOPs/peak, bytes/bandwidth) of each matrix's Newton-Schulz iterations; per-GPU share, at "
                       "least the largest matrix; mean over stages, s",
                       "step.breakdown_s.optimizer");
  return from_engine(s, "t_opt",
                     "memory traffic (states read and written, gradients read, weights written) / bandwidth; per-GPU "
                     "share, mean over stages, s",
                     "step.breakdown_s.optimizer");
}

/// Number of gradient elements that the tensor-parallel ranks all-reduce once per step: gradients of norms shared by
/// the heads and, under sequence parallelism, of weights applied to a shard of the tokens and of biases added after the
/// reduction.
Formula summed_gradients(S s) {
  if (!s.tensor_parallel()) return {"0"};
  const bool sp = sequence_parallel(s.layout());
  const auto summed = [sp](const textbook::Weight<Expr>& w) {
    return sp ? w.place != textbook::Place::cut : w.place == textbook::Place::shared;
  };
  const Expr all = textbook::parameters_of(s.arch(), s.trained_sizes(), summed);
  if (s.plan().mtp == 0) return {all.text()};
  const ModuleFormulas module(s, ranks(s.layout(), Group::tensor));
  const Expr one = sp ? module.parameters_for_tokens() : module.parameters_for_heads();
  return module.formula(all + Expr("n_u", s.plan().mtp) * one);
}
/// Adds the time of this all-reduce to a formula, if there are such gradients.
void add_gradient_collective(S s, bool bound, Formula& f) {
  const Formula numbers = summed_gradients(s);
  if (numbers.expression == "0") return;
  f.expression +=
      " + " +
      product({exposed(s),
               ring_text(s, bound, "2", product({s.plan().gradient_bytes > 4 ? "4" : "p_g", numbers.expression}))});
  f.own.insert(f.own.end(), numbers.own.begin(), numbers.own.end());
}

/// Whether the rows of an estimate use the rates that a software stack achieves (calc/roofline.hpp,
/// calc/step/row_time.hpp).
bool has_software(S s) { return s.request().software.has_value(); }
Formula estimated_part(S s, const char* what, const char* path) { return from_engine(s, "t_e", what, path); }
constexpr const char* product_seconds =
    "sum over matmuls of FLOPs / (peak x achieved fraction of the architecture x F/(F + half_matmul)) plus the "
    "non-overlapped fraction of their memory time; mean over stages, s";
constexpr const char* core_seconds =
    "sum over attention cores of executed FLOPs / throughput of the stack's kernel, or bytes of stored scores / "
    "bandwidth, s";
constexpr const char* elementwise_seconds =
    "sum over other operators of bytes moved by the stack's kernels / achieved copy bandwidth, s";
constexpr const char* host_seconds =
    "launch overhead and device stalls on the host; device and host times combine as (device^6 + host^6)^(1/6), s";
constexpr const char* communication_seconds =
    "sum over non-overlapped collectives of start latency, round latency and bytes / achieved link bandwidth; mean "
    "over stages, s";

/// One formula for a single rank or tensor-parallel group: its work and collectives. Otherwise the sum of the parts.
Formula step_time(S s, bool bound) {
  const Software& software = s.device().achieved.software;
  const bool hides = software.hidden_tensor > 0 || software.hidden_by_weights > 0;
  if (!is_one_group(s) || (has_software(s) && (!bound || hides))) return bound ? bound_time(s) : sum_of_parts(s);
  Formula f = pass_time(s, training_pass(s.plan()), bound);
  f.expression = product({repeats(s), f.expression});
  f.expression += " + " + optimizer_text(s, bound);
  add_gradient_collective(s, bound, f);
  return f;
}
Formula work(S s, Part p, const char* expression, const char* path) {
  if (has_software(s)) return estimated_part(s, expression, path);
  return work_time(s, training_pass(s.plan()), p, repeats(s));
}
Formula launches(S s, const char* path) {
  if (has_software(s)) return estimated_part(s, host_seconds, path);
  return launch_time(s, training_pass(s.plan()), repeats(s));
}
Formula messages(S s, Part p) { return communication_time(s, training_pass(s.plan()), p, repeats(s)); }
Formula context_messages(S s) {
  if (has_software(s)) return estimated_part(s, communication_seconds, "step.breakdown_s.cp");
  const bool ring = ranks(s.layout(), Group::context) > 1 && s.layout().context_method == ContextMethod::ring;
  return ring ? ring_time(s, repeats(s)) : messages(s, Part::cp);
}
Formula expert_messages(S s) {
  if (has_software(s)) return estimated_part(s, communication_seconds, "step.breakdown_s.ep");
  if (!pairs_experts(s.layout())) return messages(s, Part::ep);
  return from_engine(
      s, "t_ep",
      "expert-parallel collectives of all layers minus the part overlapped in paired slots; mean over stages, s",
      "step.breakdown_s.ep");
}
Formula tensor_messages(S s) {
  if (has_software(s)) return estimated_part(s, communication_seconds, "step.breakdown_s.tp");
  if (s.tensor_parallel() && !is_one_group(s) &&
      (ranks(s.layout(), Group::pipeline) > 1 || !is_one_ring(s) || trains_part(s.plan()) ||
       traits(s.plan().optimizer).orthogonalizes))
    return from_engine(s, "t_tp",
                       "tensor-parallel collectives of all layers, all-reduce of shared gradients, and matrix gathers "
                       "of Muon; mean over stages, s",
                       "step.breakdown_s.tp");
  Formula f = messages(s, Part::tp);
  add_gradient_collective(s, false, f);
  return f;
}

/// The largest of the four limits of a step. The optimizer's update counts as memory traffic.
Formula limiting(S s) {
  return {"max(compute, memory, communication, launches)",
          {as_symbol(s, "compute", "compute-bound time, s", "step.limited_s.compute"),
           as_symbol(s, "memory", "memory-bound time, s", "step.limited_s.memory"),
           as_symbol(s, "communication", "communication time, s", "step.limited_s.communication"),
           as_symbol(s, "launches", "launch overhead, s", "step.limited_s.latency")}};
}
/// Time of compute-bound operators. Muon's matmuls are limited by compute or memory.
Formula limited_compute(S s) {
  if (has_software(s)) return estimated_part(s, "compute-bound operators, s", "step.limited_s.compute");
  if (!traits(s.plan().optimizer).orthogonalizes) return compute_time(s, training_pass(s.plan()), repeats(s));
  return from_engine(s, "t_pi", "compute-bound operators and Newton-Schulz iterations, s", "step.limited_s.compute");
}
Formula limited_memory(S s) {
  if (has_software(s))
    return estimated_part(s, "memory-bound operators and optimizer update, s", "step.limited_s.memory");
  if (traits(s.plan().optimizer).orthogonalizes)
    return from_engine(s, "t_beta", "memory-bound operators and Newton-Schulz iterations, and optimizer update, s",
                       "step.limited_s.memory");
  Formula f = memory_time(s, training_pass(s.plan()), repeats(s));
  f.expression += " + t_opt";
  f.own.push_back(as_symbol(s, "t_opt", "optimizer time, s", "step.breakdown_s.optimizer"));
  return f;
}
/// Seconds of one kind of collective; 0 if the step has none.
Symbol communicated(S s, const char* name, const char* meaning, std::string_view kind) {
  const std::string seconds = s.number(fmt::format("step.breakdown_s.{}", kind));
  return {name, meaning, seconds.empty() ? "0" : seconds};
}
Formula limited_communication(S s) {
  return {
      "t_tp + t_cp + t_ep + t_dp + t_pp + t_offload",
      {communicated(s, "t_tp", "tensor parallelism, s", "tp"), communicated(s, "t_cp", "context parallelism, s", "cp"),
       communicated(s, "t_ep", "expert parallelism, s", "ep"), communicated(s, "t_dp", "data parallelism, s", "dp"),
       communicated(s, "t_pp", "pipeline messages, s", "pp"),
       communicated(s, "t_offload", "host transfers, s", "offload")}};
}

constexpr std::string_view step_roofline =
    "max(FLOPs/peak, bytes/bandwidth) per operator (--roofline op) or for the whole step (--roofline step)";
constexpr std::string_view estimated_step =
    "max(FLOPs/peak, bytes/bandwidth) per operator (--roofline op) or for the whole step (--roofline step); an "
    "estimate uses the achieved fractions of peak and bandwidth, and adds launch overhead and non-overlapped "
    "communication";
constexpr std::string_view per_stage =
    "max(FLOPs/peak, bytes/bandwidth) per operator; with a pipeline, the mean over stages";
/// One end of the estimate's interval.
Formula of_step(S s, const char* expression) { return within(interval_of(s.request()), expression); }
Formula of_fast_step(S s, const char* expression) {
  return within(interval_of(s.request()), expression, s, "step.bound_time_s");
}
constexpr std::string_view left_out = "llmcalc-fit training";

constexpr std::string_view step_sources = "Goon App. D; Williams 2009; Narayanan 2021 (arXiv:2104.04473)";
constexpr Definition step_table[] = {
    {"step.time_s", "time of one optimizer step", "s", [](S s) { return step_time(s, false); }, estimated_step,
     step_sources},
    {"step.bound_time_s", "time of one optimizer step at full efficiency", "s", [](S s) { return step_time(s, true); },
     step_roofline, step_sources},
    {"step.tokens", "tokens per step, all GPUs", "tokens", fixed<"n_r*m*B*S">, "", "Goon §3"},
    {"step.tokens_per_s", "throughput of all GPUs", "tokens/s", fixed<"n_r*m*B*S/step_time">, "", "Goon (3.5)"},
    {"step.tokens_per_s_per_gpu", "throughput per GPU", "tokens/s", fixed<"n_r*m*B*S/(step_time*gpus)">, "",
     "Goon (3.5)"},
    {"step.mfu", "model FLOPs utilization", "", fixed<"n_r*m*F_model/(step_time*gpus*pi)">,
     "excludes recomputation; dense peak of the compute format",
     "PaLM (arXiv:2204.02311) App. B; Goon (3.5) with FLOPs per token"},
    {"step.hfu", "hardware FLOPs utilization", "", fixed<"n_r*m*F_hw/(step_time*gpus*pi)">, "includes recomputation",
     "Korthikanti 2022 (arXiv:2205.05198)"},
    {"step.time_low_s", "step time, low end of the 90 % interval", "s",
     [](S s) { return of_fast_step(s, "max(step_time/w, t_0)"); }, interval_law, left_out, known_interval},
    {"step.time_high_s", "step time, high end of the 90 % interval", "s", [](S s) { return of_step(s, "step_time*w"); },
     interval_law, left_out, known_interval},
    {"step.tokens_per_s_low", "throughput, low end of the 90 % interval", "tokens/s",
     [](S s) { return of_step(s, "n_r*m*B*S/(step_time*w)"); }, interval_law, left_out, known_interval},
    {"step.tokens_per_s_high", "throughput, high end of the 90 % interval", "tokens/s",
     [](S s) { return of_fast_step(s, "n_r*m*B*S/max(step_time/w, t_0)"); }, interval_law, left_out, known_interval},
    {"step.tokens_per_s_per_gpu_low", "throughput per GPU, low end of the 90 % interval", "tokens/s",
     [](S s) { return of_step(s, "n_r*m*B*S/(step_time*gpus*w)"); }, interval_law, left_out, known_interval},
    {"step.tokens_per_s_per_gpu_high", "throughput per GPU, high end of the 90 % interval", "tokens/s",
     [](S s) { return of_fast_step(s, "n_r*m*B*S/(max(step_time/w, t_0)*gpus)"); }, interval_law, left_out,
     known_interval},
    {"step.mfu_low", "MFU, low end of the 90 % interval", "",
     [](S s) { return of_step(s, "n_r*m*F_model/(step_time*gpus*pi*w)"); }, interval_law, left_out, known_interval},
    {"step.mfu_high", "MFU, high end of the 90 % interval", "",
     [](S s) { return of_fast_step(s, "n_r*m*F_model/(max(step_time/w, t_0)*gpus*pi)"); }, interval_law, left_out,
     known_interval},
    {"step.hfu_low", "HFU, low end of the 90 % interval", "",
     [](S s) { return of_step(s, "n_r*m*F_hw/(step_time*gpus*pi*w)"); }, interval_law, left_out, known_interval},
    {"step.hfu_high", "HFU, high end of the 90 % interval", "",
     [](S s) { return of_fast_step(s, "n_r*m*F_hw/(max(step_time/w, t_0)*gpus*pi)"); }, interval_law, left_out,
     known_interval},
    {"estimate.families", "measurement sources of the interval", "",
     [](S s) { return from_engine(s, "n_f", "sources with runs of this class", "estimate.families"); },
     "each source predicted with parameters fitted to the other sources", left_out, known_interval},
    {"step.bound", "bottleneck of the step", "", limiting, slowest, step_sources, "", slowest},
    {"step.limited_s.compute", "time of compute-bound operators", "s", limited_compute, step_roofline, step_sources},
    {"step.limited_s.memory", "time of memory-bound operators and the optimizer", "s", limited_memory, step_roofline,
     step_sources},
    {"step.limited_s.communication", "time of non-overlapped communication", "s", limited_communication,
     "sum over all kinds of communication", step_sources},
    {"step.limited_s.latency", "launch overhead", "s", [](S s) { return launches(s, "step.limited_s.latency"); },
     "measured; 0 if missing from the hardware file", "the hardware file"},
    {"step.breakdown_s.matmul", "time of matmuls", "s",
     [](S s) { return work(s, Part::matmul, product_seconds, "step.breakdown_s.matmul"); }, per_stage, step_sources},
    {"step.breakdown_s.attention", "time of attention cores", "s",
     [](S s) { return work(s, Part::attention, core_seconds, "step.breakdown_s.attention"); }, per_stage, step_sources},
    {"step.breakdown_s.elementwise", "time of all other operators", "s",
     [](S s) { return work(s, Part::elementwise, elementwise_seconds, "step.breakdown_s.elementwise"); }, per_stage,
     step_sources},
    {"step.breakdown_s.host", "launch overhead", "s", [](S s) { return launches(s, "step.breakdown_s.host"); },
     "measured; 0 if missing from the hardware file", "the hardware file"},
    {"step.breakdown_s.tp", "time of tensor-parallel collectives", "s", tensor_messages,
     "ring collectives, one per network level; --overlap sets the overlapped fraction",
     "Megatron (arXiv:1909.08053); Korthikanti 2022 (arXiv:2205.05198); Patarasuk & Yuan 2009", "--tp N"},
    {"step.breakdown_s.cp", "time of context-parallel communication", "s", context_messages,
     "ring messages overlap with the attention core, other methods do not; --overlap sets the overlapped fraction",
     "ring arXiv:2310.01889; all-gather arXiv:2407.21783; Ulysses arXiv:2309.14509", "--cp N"},
    {"step.breakdown_s.ep", "time of expert-parallel collectives", "s", expert_messages,
     "all-to-all of each rank's tokens for dispatch and combine; DualPipe overlaps it with the work of another slot; "
     "--overlap sets the overlapped fraction",
     "GShard (arXiv:2006.16668); Megatron-Core (arXiv:2504.14960)", "--ep N"},
    {"step.breakdown_s.dp", "non-overlapped data-parallel communication", "s", data_parallel_waits,
     "b seconds of communication overlapped with a layer of a seconds take max(a, b) + (1 - overlap) min(a, b)",
     "DDP (arXiv:2006.15704); ZeRO (arXiv:1910.02054); FSDP (arXiv:2304.11277)", "--dp N or --cp N"},
    {"step.breakdown_s.pp", "pipeline stall on messages between stages", "s", stage_messages,
     "a message blocks only its receiver", "Narayanan 2021 (arXiv:2104.04473)", "--pp N"},
    {"step.breakdown_s.imbalance", "pipeline stall on the slowest stage", "s", waiting_for_slowest,
     "over all micro-batches of a step", "Narayanan 2021 (arXiv:2104.04473)", "--pp N"},
    {"step.breakdown_s.bubble", "pipeline bubble (fill and drain)", "s",
     [](S s) {
       const double bubble = s.train().estimate[Part::bubble].value, step = s.train().estimate.total().value;
       if (bubble < 1e-12 * step) return from_engine(s, "t_bub", "rounding error only, s", "step.breakdown_s.bubble");
       Formula others = sum_of_parts(s, "bubble");
       others.expression = "step_time - (" + others.expression + ")";
       return others;
     },
     "remainder of the step, with every slot of the schedule run as early as possible; 1F1B with equal stages: (P - "
     "1)(t_f + t_b); interleaved: the same divided by the number of chunks",
     "Narayanan 2021 (arXiv:2104.04473); zero bubble arXiv:2401.10241", "--pp N"},
    {"step.breakdown_s.optimizer", "time of the optimizer update", "s", update_time,
     "states read and written, gradients read, weights written; Newton-Schulz iterations of Muon in bf16",
     "ZeRO (arXiv:1910.02054): bytes per parameter; Muon arXiv:2502.16982"},
    {"step.breakdown_s.offload", "stall on host transfers and updates", "s",
     [](S s) {
       if (!s.plan().offload.any()) return Formula{"0"};
       return from_engine(
           s, "t_offload",
           "sum over layers of transfer time minus the overlapped work, per link direction; plus, after the last "
           "gradient reduction, the remaining gradient transfer to the host and the longer of the host update (bytes / "
           "host memory bandwidth) and the weight transfer back, minus the device update; mean over stages, s",
           "step.breakdown_s.offload");
     },
     "max(0, transfer - work) + (1 - overlap) min(transfer, work); the host update takes 0 s if the host memory "
     "bandwidth is unknown",
     "ZeRO-Offload (arXiv:2101.06840); ZeRO-Infinity (arXiv:2104.07857); PyTorch save_on_cpu", "--offload WHAT"},
};

// ---- MFU of the same throughput under each convention.

Formula by_convention(S s, std::string_view key) {
  for (const Convention& c : conventions(s.arch(), s.plan(), s.layout(), s.cluster()))
    if (c.key == key)
      return {"F_t*R/(gpus*pi)",
              {{"F_t", "FLOPs per token: " + std::string(c.formula), number_text(c.flops_per_token)}}};
  return {"0"};
}
constexpr std::string_view over_peaks =
    "FLOPs per token x tokens/s / total dense peak of all GPUs in the compute format";
constexpr Definition utilization_table[] = {
    {"utilization.model", "utilization, operators of the model", "", [](S s) { return by_convention(s, "model"); },
     over_peaks, "PaLM (arXiv:2204.02311) App. B"},
    {"utilization.model_full", "utilization, all attention pairs", "",
     [](S s) { return by_convention(s, "model_full"); }, over_peaks, "PaLM (arXiv:2204.02311) App. B"},
    {"utilization.model_causal_half", "utilization, half of the attention pairs", "",
     [](S s) { return by_convention(s, "model_causal_half"); }, over_peaks, "FlashAttention (arXiv:2307.08691)"},
    {"utilization.model_causal_exact", "utilization, causal attention pairs", "",
     [](S s) { return by_convention(s, "model_causal_exact"); }, over_peaks, "sum of decode steps"},
    {"utilization.llm_c", "utilization, llm.c convention", "", [](S s) { return by_convention(s, "llm_c"); },
     over_peaks, "karpathy/llm.c, llmc/mfu.h"},
    {"utilization.palm", "utilization, PaLM convention", "", [](S s) { return by_convention(s, "palm"); }, over_peaks,
     "PaLM (arXiv:2204.02311) App. B"},
    {"utilization.nanogpt", "utilization, nanoGPT convention", "", [](S s) { return by_convention(s, "nanogpt"); },
     over_peaks, "karpathy/nanoGPT, model.py"},
    {"utilization.six_n", "utilization, 6 N formula", "", [](S s) { return by_convention(s, "six_n"); }, over_peaks,
     "Kaplan et al. 2020 (arXiv:2001.08361)"},
    {"utilization.hardware", "utilization, including recomputation", "",
     [](S s) { return by_convention(s, "hardware"); }, over_peaks, "Korthikanti 2022 (arXiv:2205.05198)"},
    {"utilization.executed", "utilization, FLOPs executed by kernels", "",
     [](S s) { return by_convention(s, "executed"); }, over_peaks, "FLOPs executed by kernels"},
};

}  // namespace

std::span<const Definition> step_definitions() { return step_table; }
std::span<const Definition> utilization_definitions() { return utilization_table; }

}  // namespace llmcalc::explain
