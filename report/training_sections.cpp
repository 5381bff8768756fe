#include <fmt/format.h>

#include "calc/run.hpp"
#include "presets/weight_formats.hpp"
#include "report/sections.hpp"

namespace llmcalc {
namespace {

bool fits(const Request& r, Bytes peak, double utilization) {
  return real(peak.value) <= utilization * real(r.hardware->cluster.device.memory.value);
}

void add_capacity(Section& s, const Request& r, Bytes peak, double utilization) {
  if (!r.hardware) return;
  s.add("capacity_bytes", "capacity", r.hardware->cluster.device.memory, r.hardware->name);
  s.add("fits", "fits", fits(r, peak, utilization));
}

void add_process(Section& s, const Memory& m) {
  if (m.process != Bytes()) s.add("process_bytes", "process", m.process, "measured: driver, libraries, kernels");
}

/// Bytes that the layers keep at this precision, or with recomputation, everything else as planned.
Bytes kept_with(const Request& r, DType precision, Recompute recompute) {
  Plan p = r.plan;
  p.weight_precision = p.precision = precision;
  p.recompute = recompute;
  return training_memory(r.model.arch, p, r.layout).activations;
}

/// MFU where only causal pairs count as work.
double causal_utilization(const Request& r, const TrainEstimate& e) {
  Plan causal = r.plan;
  causal.attention_flops = AttentionFlops::causal_exact;
  TrainEstimate of_causal = e;
  of_causal.flops = training_flops(r.model.arch, causal);
  return model_utilization(of_causal, e.estimate, causal, r.layout, r.hardware->cluster.device);
}

}  // namespace

Section training_memory_section(const Request& r) {
  const Memory m = training_memory(r.model.arch, r.plan, r.layout, process_bytes(r));
  Section s{"memory", "training memory, per GPU", {}};
  s.add("weights_bytes", "weights", m.weights, std::string(training_weights(r.plan).name()));
  s.add("gradients_bytes", "gradients", m.gradients, fmt::format("{} bytes each", r.plan.gradient_bytes));
  s.add("optimizer_bytes", "optimizer", m.optimizer,
        keeps_master(r.plan) ? "float32 master copy included" : "no master copy");
  s.add("activations_bytes", "activations", m.activations,
        fmt::format("{} x {} tokens", r.plan.micro_batch, r.plan.seq));
  s.add("logits_bytes", "logits", m.logits);
  s.add("workspace_bytes", "workspace", m.workspace, "more, at the worst moment");
  add_process(s, m);
  s.add("total_bytes", "sum", m.total);
  s.add("peak_bytes", "peak", m.peak, m.peak == m.total ? "" : "not all of it is alive at once");
  s.add("parameters", "", m.parameters, Unit::parameters);
  add_capacity(s, r, m.peak, 1);
  return s;
}

Section inference_memory_section(const Request& r) {
  const Memory m = inference_memory(r.model.arch, r.plan, r.layout, process_bytes(r));
  Section s{"inference_memory", "inference memory, per GPU", {}};
  s.add("weights_bytes", "weights", m.weights, weight_formats_text(r.plan.weight_precision));
  s.add("kv_cache_bytes", "KV cache", m.kv_cache,
        fmt::format("{} x {} tokens", r.plan.batch, r.plan.prompt + r.plan.generate));
  s.add("workspace_bytes", "workspace", m.workspace, "worst moment of a pass");
  add_process(s, m);
  s.add("total_bytes", "sum", m.total);
  s.add("peak_bytes", "", m.peak);
  s.add("parameters", "", m.parameters, Unit::parameters);
  add_capacity(s, r, m.peak, r.plan.memory_utilization);
  return s;
}

Section activations_section(const Request& r) {
  const Plan& p = r.plan;
  Section s{"activations", "activations kept for backward, per GPU", {}};
  Plan kept_all = p;
  kept_all.recompute = Recompute::none;
  const Prices prices = price(r.model.arch, kept_all, r.layout, {});
  Bytes blocks, core, outside;
  for (const LayerPrice& row : prices.rows) {
    const bool block = row.segment == SegmentKind::block;
    (block ? blocks : outside) += row.layers * row.alive.kept;
    if (block) core += row.layers * row.alive.core;
  }
  s.add("blocks_bytes", "blocks", blocks, "without recomputation");
  s.add("attention_core_bytes", "of it scores", core,
        p.attention == AttentionImpl::naive ? "S x S terms" : "log-sum-exps");
  s.add("outside_blocks_bytes", "embedding and head", outside, "ids, masks, final norm, head");
  s.add("selective_bytes", "selective recompute", kept_with(r, p.precision, Recompute::selective));
  s.add("full_bytes", "full recompute", kept_with(r, p.precision, Recompute::full), "the blocks' inputs");
  if (p.attention == AttentionImpl::naive && core.value > 0)
    s.add("quadratic_equals_linear_seq", "scores exceed rest from",
          real(p.seq) * real((blocks - core).value) / real(core.value), Unit::tokens, "per sequence");
  const bool whole = ranks(r.layout, Group::tensor) == 1;
  if (p.precision.format().element_bits == 16 && whole && p.master && p.weight_precision == p.precision) {
    // With a float32 master copy, 16 bits cost 2 bytes more per parameter in states and save activations.
    const Count saved = (kept_with(r, dtypes::fp32, p.recompute) - kept_with(r, p.precision, p.recompute)).value;
    const Count params = parameters(r.model.arch).total;
    s.add("mixed_precision_break_even_batch", "16 bits save memory from",
          2 * real(params) * real(p.micro_batch) / real(saved), Unit::none,
          "sequences per micro-batch, of the memory in float32");
  }
  return s;
}

Section step_section(const Request& r, const TrainEstimate& e) {
  const Plan& p = r.plan;
  const Device& device = r.hardware->cluster.device;
  const StepTime& t = e.estimate;
  const Time all = t.all();
  const Count gpus = devices(r.layout);
  Section s{"step", "one optimizer step", {}};
  s.add("time_s", e.estimated ? "time, estimated" : "time, at best", t.total(),
        e.estimated ? "at the efficiencies given" : "a bound: full efficiency");
  s.add("bound_time_s", e.estimated ? "time, at best" : "", e.bound.total(), e.estimated ? "full efficiency" : "");
  s.add("tokens", "tokens", e.tokens, Unit::tokens,
        fmt::format("{} sequence{} of {}", p.global_batch, p.global_batch == 1 ? "" : "s", p.seq));
  s.add("tokens_per_s", "throughput", tokens_per_second(e, t), Unit::tokens_per_second,
        fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s"));
  s.add("tokens_per_s_per_gpu", "per GPU", tokens_per_second(e, t) / real(gpus), Unit::tokens_per_second);
  const double mfu = model_utilization(e, t, p, r.layout, device);
  s.add("mfu", "MFU", mfu, Unit::ratio, fmt::format("of the {} peak", p.precision.name()));
  if (mfu > 1)
    s.add("mfu_causal_exact", "MFU, causal pairs", causal_utilization(r, e), Unit::ratio,
          "--attention-flops full counts pairs that flash skips");
  s.add("hfu", "HFU", hardware_utilization(e, t, p, r.layout, device), Unit::ratio, "recomputation counted");
  s.add("bound", "bound by", std::string(bound_names[static_cast<std::size_t>(bound(all))]));
  const auto part = [&](const char* key, const char* label, Seconds v) {
    s.add(fmt::format("breakdown_s.{}", key), v.value > 0 ? label : "", v,
          fmt::format("{:4.1f} %", 100 * (v / t.total())));
  };
  part("compute", "compute-bound work", t.time.compute);
  part("memory", "memory-bound work", t.time.memory);
  part("communication", "communication", all.communication);
  part("latency", "launches", t.time.latency);
  part("optimizer", "optimizer", t.optimizer.memory);
  return s;
}

Section run_section(const Request& r, const TrainEstimate& e) {
  const Plan& p = r.plan;
  const RunInputs& run = r.run;
  const Count gpus = devices(r.layout);
  Section s{"run", "the whole run", {}};
  const double predicted = tokens_per_second(e, e.estimate);
  const double rate = run.measured_tokens_per_s.value_or(predicted);
  const double per_token = static_cast<double>(e.flops.model_total.value) / real(p.micro_batch * p.seq);
  const double hardware_per_token = static_cast<double>(e.flops.hardware_total.value) / real(p.micro_batch * p.seq);
  const FlopsPerSecond peak = r.hardware->cluster.device.peak(p.precision);
  if (run.measured_tokens_per_s) {
    s.add("measured_tokens_per_s", "measured", rate, Unit::tokens_per_second, fmt::format("{} GPUs", gpus));
    s.add("mfu", "MFU", mfu(per_token, rate, gpus, peak), Unit::ratio, "from the measured throughput");
    s.add("hfu", "HFU", hfu(hardware_per_token, rate, gpus, peak), Unit::ratio);
    const Parameters n = parameters(r.model.arch);
    s.add("mfu_6nd", "MFU by 6N", mfu(6 * real(n.active), rate, gpus, peak), Unit::ratio,
          "6 x active parameters, no attention");
  }
  if (!run.tokens) return s;
  const Seconds time = training_time(real(*run.tokens), rate);
  const double gpu_hours = device_hours(gpus, time);
  s.add("tokens", "tokens", *run.tokens, Unit::tokens);
  s.add("words", "words", words_of_tokens(real(*run.tokens)), Unit::none, "1.3 tokens each");
  s.add("flops", "model FLOPs",
        Flops((*run.tokens * e.flops.model_total).value / static_cast<Wide>(p.micro_batch * p.seq)),
        "per token x tokens");
  const bool possible = run.measured_tokens_per_s || fits(r, e.memory.peak, 1);
  const auto marked = [&](std::string note) {
    return possible ? note : "not possible: does not fit" + (note.empty() ? "" : "; " + note);
  };
  s.add("days", "time", days(time), Unit::days, marked(replicas(r.layout) > 1 ? "gradient exchange not counted" : ""));
  s.add("gpu_hours", "GPU-hours", gpu_hours, Unit::hours, marked(""));
  if (run.watts) {
    const double kwh = energy_kwh(gpu_hours, *run.watts, run.pue);
    s.add("energy_kwh", "energy", kwh, Unit::kilowatt_hours,
          marked(fmt::format("{} W each, PUE {}", *run.watts, run.pue)));
    if (run.co2) s.add("co2_kg", "CO2", co2_kg(kwh, *run.co2), Unit::kilograms, marked(""));
  }
  if (run.price)
    s.add("cost_usd", "cost", cost(gpu_hours, *run.price), Unit::dollars,
          marked(fmt::format("{} USD per GPU-hour", *run.price)));
  return s;
}

}  // namespace llmcalc
