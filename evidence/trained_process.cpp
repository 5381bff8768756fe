#include "evidence/trained_process.hpp"

#include <algorithm>

namespace llmcalc {

namespace {

MemorySoftware memory_software(const TrainingCase& c) {
  if (c.stack.name == "megatron-lm") return MemorySoftware::megatron;
  if (c.stack.name == "megatron-deepspeed") return MemorySoftware::megatron_deepspeed;
  if (c.stack.name == "megatron-core" || c.stack.name == "nemo") return MemorySoftware::transformer_engine;
  if (c.stack.name == "internevo") return MemorySoftware::internevo;
  return c.stack.name == "torchtitan" ? MemorySoftware::titan : MemorySoftware::pytorch;
}

/// Whether gradients accumulate in fp16. If a row does not state the 16-bit format, fp16 is assumed for Megatron-LM
/// and its derivatives, whose scripts set --fp16.
bool accumulates_halves(const TrainingCase& c, MemorySoftware software) {
  const bool megatron = software == MemorySoftware::megatron || software == MemorySoftware::megatron_deepspeed;
  return megatron && c.half_gradients_open;
}

/// Whether the run saves the output of every second matmul and recomputes the rest of a layer: torchtitan's "selective"
/// with "op", the default of its training configurations.
bool keeps_alternate_products(const TrainingCase& c, MemorySoftware software) {
  return software == MemorySoftware::titan && (c.recomputed.alternate_products || !c.recomputed.stated());
}

/// Choices that the software makes. Rows can state only the attention kernel; the software makes all other choices.
LeftToSoftware left_to_software(const TrainingCase& c) {
  return {.attention = !c.attention.stated,
          .dropout = true,
          .logits = true,
          .glu = true,
          .weights = true,
          .gradients = true,
          .reshard = true};
}

/// Number of stages on the observed devices. Consecutive stages are on consecutive nodes.
Count stages_of(const Layout& l, const MeasuredMemory& of) {
  const Count all = ranks(l, Group::pipeline);
  if (of.devices == 0) return all;
  return std::clamp<Count>(ceil_div(mul(all, of.devices), devices(l)), 1, all);
}

ProcessMemory fullest_process(const TrainingCase& c, const MeasuredMemory& of, const MemoryParameters& fitted) {
  const TrainedProcess p = trained_process(c);
  return fullest(process_memories(p, stages_of(p.layout, of), of.kind, fitted));
}

}  // namespace

TrainedProcess trained_process(const TrainingCase& c) {
  const MemorySoftware software = memory_software(c);
  const LeftToSoftware left = left_to_software(c);
  TrainedProcess p{.arch = c.arch,
                   .on = c.on.hardware,
                   .software = software,
                   .plan = stored_plan(c.plan, software, left),
                   .layout = stored_layout(c.layout, software, left),
                   .keeps_alternate = keeps_alternate_products(c, software),
                   .compiles_loss = c.compiles_loss};
  if (accumulates_halves(c, software)) p.plan.gradient_bytes = 2;
  if (p.keeps_alternate) p.plan.recompute = Recompute::full;
  return p;
}

ProcessMemory process_memory(const TrainingCase& c, const MeasuredMemory& of, const MemoryParameters& fitted) {
  const ProcessMemory m = fullest_process(c, of, fitted);
  if (c.recomputed.stated() || total(m) <= c.cluster().device.memory) return m;
  TrainingCase again = c;  // the run fit in memory, so it must have recomputed
  again.recomputed = {.layers = true};
  again.plan.recompute = Recompute::full;
  return fullest_process(again, of, fitted);
}

}  // namespace llmcalc
