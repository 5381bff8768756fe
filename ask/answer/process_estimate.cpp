#include "ask/answer/process_estimate.hpp"

#include "ask/request/software.hpp"
#include "presets/estimators/memory_estimate.hpp"
#include "presets/load.hpp"

namespace llmcalc {

namespace {

/// Options whose values in the plan equal the defaults, whether or not the user set them.
LeftToSoftware left_by(const Request& r) {
  const Plan& p = r.plan;
  const bool usual_weights = p.weight_precision.uniform() && p.weight_precision[Component::mlp] == working_format(p);
  return {.logits = p.logits.format == LogitFormat::fp32 && p.logits.chunks == 1,
          .glu = p.glu_store == GluStore::all,
          .weights = usual_weights,
          .gradients = p.gradient_bytes == 4,
          .reshard = true};
}

/// The request's software, specified or default. Absent if the device or the software has no process estimate.
std::optional<SoftwareCard> process_software(const Request& r) {
  if (!r.hardware || !has_known_process(*r.hardware)) return std::nullopt;
  SoftwareCard card = r.software ? *r.software : load_software(usual_software(r));
  return card.memory ? std::optional(std::move(card)) : std::nullopt;
}

}  // namespace

double ProcessEstimate::needed_low() const { return static_cast<double>(needed().value) / interval.factor; }

double ProcessEstimate::needed_high() const { return static_cast<double>(needed().value) * interval.factor; }

bool has_process_estimate(const Request& r) { return process_software(r).has_value(); }

bool fits(const ProcessEstimate& p) { return p.needed() <= p.capacity; }

std::optional<ProcessEstimate> process_estimate(const Request& r, Bytes tensors) {
  const std::optional<SoftwareCard> software = process_software(r);
  if (!software) return std::nullopt;
  const LeftToSoftware left = left_by(r);
  const TrainedProcess p{.arch = r.model.arch,
                         .on = *r.hardware,
                         .software = *software->memory,
                         .plan = stored_plan(r.plan, *software->memory, left),
                         .layout = stored_layout(r.layout, *software->memory, left)};
  const MemoryEstimate& e = memory_estimate();
  return ProcessEstimate{
      .software = software->name,
      .stages = process_memories(p, ranks(r.layout, Group::pipeline), MemoryKind::process, e.parameters),
      .tensors = tensors,
      .capacity = r.hardware->driver > Bytes() ? r.hardware->driver : r.hardware->cluster.device.memory,
      .interval = e.interval(memory_class(MemoryKind::process))};
}

Bytes usable_memory(const Request& r) {
  const auto all = static_cast<double>(r.hardware->cluster.device.memory.value);
  return Bytes(static_cast<Count>(r.plan.memory_utilization * all));
}

}  // namespace llmcalc
