#include "report/train/training_sections.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ask/answer/conventions.hpp"
#include "ask/answer/fit.hpp"
#include "ask/answer/interval.hpp"
#include "ask/answer/measured_scale.hpp"
#include "ask/answer/process_estimate.hpp"
#include "ask/answer/stages.hpp"
#include "ask/request/offload.hpp"
#include "ask/request/request.hpp"
#include "calc/run.hpp"
#include "presets/formats/weight_formats.hpp"
#include "report/interval.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/train/host_notes.hpp"
#include "report/train/stages.hpp"
#include "text/counted.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

const Request& fullest_request_of(const TrainingAnswer& a) { return a.request(); }
const Request& fullest_request_of(const InferenceAnswer& a) {
  return a.request().hardware ? a.fullest_request() : a.request();
}

/// `host`: host memory of the device that uses the most.
template <typename Half>
void add_capacity(Section& s, const Half& a, Bytes host) {
  const Request& r = fullest_request_of(a);
  if (!r.hardware) return;
  const Device& d = r.hardware->cluster.device;
  s.add("capacity_bytes", "capacity", d.memory, r.hardware->name);
  if (host != Bytes() && d.host.capacity != Bytes())
    s.add("host_capacity_bytes", "host capacity", d.host.capacity, "per GPU");
  s.add("fits", "fits", fit_of(a).is_expected());
}

void add_process(Section& s, const Memory& m) {
  if (m.process != Bytes()) s.add("process_bytes", "process", m.process, "measured: driver, libraries, kernels");
}

/// The formats of trained and frozen weights: "bf16", "nf4 frozen, adapters bf16".
std::string held_formats(const Plan& p) {
  const std::string trained(training_weights(p).name());
  if (!trains_adapters(p)) return trained;
  return fmt::format("{} frozen, adapters {}", weight_formats_text(p.base_precision), trained);
}

/// Bytes that the layers save at this precision and recomputation, with the rest of the plan unchanged.
Bytes saved_with(const Request& r, DType precision, Recompute recompute) {
  Plan p = r.plan;
  p.weight_precision = p.precision = precision;
  p.recompute = recompute;
  p.offload = {};
  p.recompute_method = RecomputeMethod::uniform;
  p.recompute_layers = 1;
  p.recompute_modules = RecomputeModule::core;
  return training_memory(r.model.arch, p, r.layout).activations;
}

std::string share(Seconds part, Seconds all) { return fmt::format("{:4.1f} %", 100 * (part / all)); }

std::string title_of(const Stages& all, const Stage& fullest) {
  if (all.stages.size() == 1) return "training memory, per GPU";
  return fmt::format("training memory, per GPU of stage {} of {}, the fullest", fullest.rank + 1, all.stages.size());
}

std::string in_flight_text(const Request& r, const Stage& s, bool one_stage) {
  const std::string one = fmt::format("{} x {} tokens", r.plan.micro_batch, r.plan.seq);
  if (one_stage) return one;
  const char* where = r.layout.chunks > 1 ? " over all chunks" : "";
  if (s.for_weights == 0) return fmt::format("{}, {} in flight{}", one, s.in_flight, where);
  return fmt::format("{}, {} in flight{}, {} of them only for weight gradients", one, s.in_flight, where,
                     s.for_weights);
}

/// Adds the bottleneck of the step, and the time limited by each resource.
void add_limits(Section& s, const StepFigures& f, Seconds step) {
  s.add("bound", "bound by", std::string(f.bound.name), Unit::none, share(f.bound.time, step));
  for (const LimitTime& l : f.limits) s.add(fmt::format("limited_s.{}", l.name), "", l.time);
}

/// Parts with a time of 0 appear only in JSON.
void add_breakdown(Section& s, const StepFigures& f, Seconds step) {
  for (const PartTime& p : f.parts)
    s.add(fmt::format("breakdown_s.{}", part_names[static_cast<std::size_t>(p.part)]),
          p.time.value > 0 ? std::string(part_label(p.part)) : "", p.time, share(p.time, step));
}

}  // namespace

std::string_view part_label(Part p) {
  constexpr std::array<std::string_view, part_count> labels{
      "matmuls",          "attention cores", "element-wise",  "kernel launch overhead", "tensor parallel",
      "context parallel", "expert parallel", "data parallel", "pipeline communication", "pipeline stall",
      "bubble",           "optimizer",       "host memory"};
  return labels[static_cast<std::size_t>(p)];
}

namespace {
std::string gradient_formats(const Plan& p) {
  return p.gradient_bytes > 4 ? "6 bytes each: 16-bit gradient, float32 accumulator"
                              : fmt::format("{} bytes each", p.gradient_bytes);
}
}  // namespace

Section training_memory_section(const TrainingAnswer& a) {
  const Request& r = a.request();
  const Stages& all = a.stages();
  const Stage& fullest = all.fullest();
  const Memory& m = fullest.memory;
  Section s{"memory", title_of(all, fullest), {}};
  const auto shared = [&](Zero stage, std::string note) { return r.layout.zero < stage ? note : note + ", sharded"; };
  s.add("weights_bytes", "weights", m.weights, shared(Zero::weights, held_formats(r.plan)));
  s.add("gradients_bytes", "gradients", m.gradients, shared(Zero::gradients, gradient_formats(r.plan)));
  s.add("optimizer_bytes", "optimizer", m.optimizer,
        shared(Zero::optimizer, keeps_master(r.plan) ? "including float32 master copy" : "no master copy"));
  s.add("activations_bytes", "activations", m.activations, in_flight_text(r, fullest, all.stages.size() == 1));
  if (m.logits != Bytes() || all.stages.size() == 1) s.add("logits_bytes", "logits", m.logits);
  if (m.gathered != Bytes()) s.add("gathered_bytes", "gathered weights", m.gathered, "from the shards of other ranks");
  if (m.buckets != Bytes())
    s.add("buckets_bytes", "gradient buckets", m.buckets,
          a.accumulates_gradients() ? "full gradients of a step, until reduction" : "before reduction to shards");
  if (m.collective_call != Bytes())
    s.add("exchange_bytes", "message buffers", m.collective_call, "between stages: one received, one sent");
  if (m.transit != Bytes()) s.add("transit_bytes", "in transit", m.transit, "between device and host");
  s.add("workspace_bytes", "workspace", m.workspace, "additional, at the peak");
  add_process(s, m);
  s.add("total_bytes", "sum", m.total);
  s.add("peak_bytes", "peak", m.peak, m.peak == m.total ? "" : "not all terms are live at once");
  if (m.host != Bytes()) s.add("host_bytes", "on the host", m.host, offload_text(r.plan.offload) + "; per GPU");
  s.add("parameters", "", m.parameters, Unit::parameters);
  if (trains_part(r.plan))
    s.add("trained_parameters", "trained", m.trained, Unit::parameters,
          trains_adapters(r.plan) ? "adapters" : "other weights are frozen");
  add_capacity(s, a, all.most_on_host());
  return s;
}

namespace {

/// The pass whose peak memory is the workspace.
std::string pass_text(const InferenceAnswer& a) {
  if (!a.capacity()) return "peak of a pass";
  return fmt::format("largest pass: {}", counted(a.capacity()->engine().limits.pass_tokens, "token"));
}

std::string granted_text(const Request& r) {
  return fmt::format("to {}: {:g} % of the memory", r.engine->named_version(), 100 * r.plan.memory_utilization);
}

}  // namespace

Section inference_memory_section(const InferenceAnswer& a) {
  const Request& r = a.request();
  const Memory& m = a.memory();
  Section s{"inference_memory", "inference memory, per GPU", {}};
  s.add("weights_bytes", "weights", m.weights, weights_text(r));
  if (m.media_encoders != Bytes())
    s.add("towers_bytes", "media encoders", m.media_encoders, media_encoder_place(r.plan));
  s.add("kv_cache_bytes", "KV cache", m.kv_cache,
        fmt::format("{} x {} tokens", r.plan.batch, r.plan.prompt + r.plan.generate));
  s.add("workspace_bytes", "workspace", m.workspace, pass_text(a));
  if (a.capacity())
    s.add("process_bytes", "process", m.process, "libraries, CUDA graphs, padding, draft model, adapters");
  else
    add_process(s, m);
  s.add("total_bytes", "sum", m.total);
  s.add("peak_bytes", "", m.peak);
  if (a.capacity()) s.add("granted_bytes", "granted", a.usable(), granted_text(r));
  if (m.host != Bytes()) s.add("host_bytes", "on the host", m.host, offload_text(r.plan.offload) + "; per GPU");
  s.add("parameters", "", m.parameters, Unit::parameters);
  add_capacity(s, a, m.host);
  return s;
}

Section activations_section(const Request& r) {
  const Plan& p = r.plan;
  Section s{"activations", "activations saved for backward, per GPU", {}};
  Plan saved_all = p;
  saved_all.recompute = Recompute::none;
  const Prices prices = price(r.model.arch, saved_all, r.layout, {});
  Bytes blocks, core, outside;
  for (const LayerPrice& row : prices.rows) {
    if (row.mtp) continue;
    const bool block = row.segment == SegmentKind::block;
    (block ? blocks : outside) += row.layers * row.alive.saved;
    if (block) core += row.layers * row.alive.core;
  }
  s.add("blocks_bytes", "blocks", blocks, "without recomputation");
  s.add("attention_core_bytes", "  attention core", core,
        p.attention == AttentionImpl::naive ? "S x S terms" : "log-sum-exps");
  s.add("outside_blocks_bytes", "embedding and head", outside, "ids, masks, final norm, head");
  if (p.mtp > 0) {
    const Bytes all = saved_bytes(prices, saved_all, whole_model(prices.kinds));
    s.add("modules_bytes", "modules", all - blocks - outside, "MTP: ids, norms, projection, layer, head");
  }
  s.add("selective_bytes", "selective recompute", saved_with(r, p.precision, Recompute::selective));
  s.add("full_bytes", "full recompute", saved_with(r, p.precision, Recompute::full), "block inputs");
  if (p.attention == AttentionImpl::naive && core.value > 0)
    s.add("quadratic_equals_linear_seq", "scores exceed the rest from",
          real(p.seq) * real((blocks - core).value) / real(core.value), Unit::tokens, "per sequence");
  const bool whole =
      replica_devices(r.layout) == 1 && ranks(r.layout, Group::expert) == 1 && r.layout.zero == Zero::none;
  if (p.precision.format().element_bits == 16 && whole && p.master && p.weight_precision == p.precision &&
      !recomputes_partly(p) && !trains_part(p) && !p.offload.any() && p.mtp == 0) {
    // With a float32 master copy, 16-bit training needs 2 more bytes of states per parameter but saves activation
    // memory.
    const Count saved = (saved_with(r, dtypes::fp32, p.recompute) - saved_with(r, p.precision, p.recompute)).value;
    const Count params = parameters(r.model.arch).total;
    s.add("mixed_precision_break_even_batch", "16 bits save memory from",
          2 * real(params) * real(p.micro_batch) / real(saved), Unit::none,
          "sequences per micro-batch, compared with float32");
  }
  return s;
}

namespace {

std::string time_note(const TrainingAnswer& a) {
  const Request& r = a.request();
  const TrainEstimate& e = a.estimate();
  if (!e.estimated) return "lower bound: full efficiency";
  if (!r.software) return "at the specified efficiencies";
  const auto interval = a.interval();
  if (!interval) return fmt::format("with {}", r.software->name);
  return interval_text(*interval, e.estimate.total().value, Unit::seconds) + " in 9 of 10 cases";
}

bool step_has_interval(std::string_view key) {
  return key == "time_s" || key.starts_with("tokens_per_s") || key == "mfu" || key == "hfu";
}

}  // namespace

Section step_section(const TrainingAnswer& a) {
  const Request& r = a.request();
  const TrainEstimate& e = a.estimate();
  const Plan& p = r.plan;
  const StepFigures& f = a.step();
  const Seconds step = e.estimate.total();
  Section s{"step", "one optimizer step", {}};
  s.add("time_s", e.estimated ? "time, estimated" : "time, at best", step, time_note(a));
  s.add("bound_time_s", e.estimated ? "time, at best" : "", e.bound.total(), e.estimated ? "full efficiency" : "");
  s.add("tokens", "tokens", e.tokens, Unit::tokens,
        fmt::format("{} of {}", counted(p.global_batch, "sequence"), p.seq));
  s.add("tokens_per_s", "throughput", f.tokens_per_s, Unit::tokens_per_second, counted(f.gpus, "GPU"));
  s.add("tokens_per_s_per_gpu", "per GPU", f.tokens_per_s / real(f.gpus), Unit::tokens_per_second);
  s.add("mfu", "MFU", f.mfu, Unit::ratio, fmt::format("of the {} peak", p.precision.name()));
  if (f.causal_mfu)
    s.add("mfu_causal_exact", "MFU, causal pairs", *f.causal_mfu, Unit::ratio,
          "--attention-flops full counts pairs that flash skips");
  s.add("hfu", "HFU", f.hfu, Unit::ratio, "including recomputation");
  if (const auto interval = a.interval()) add_ends(s, *interval, step_has_interval);
  add_limits(s, f, step);
  add_breakdown(s, f, step);
  return s;
}

Section estimate_section(const TrainingAnswer& a) {
  const Request& r = a.request();
  Section s{"estimate", "", {}};
  s.add("class", "", std::string(name(a.estimate_class())));
  s.add("software", "", r.software->name);
  s.add("parameters", "", training_estimator().fitted);
  if (const auto interval = a.class_interval()) s.add("families", "", interval->families);
  if (const auto scale = a.measured_scale()) s.add("measured_scale", "", *scale);
  return s;
}

Section utilization_section(const TrainingAnswer& a) {
  Section s{"utilization", "MFU of the same throughput, by convention", {}};
  for (const Utilization& u : a.utilization())
    s.add(std::string(u.key), std::string(u.key), u.mfu, Unit::ratio, std::string(u.formula));
  return s;
}

}  // namespace llmcalc
