#include "report/process_estimate.hpp"

#include <fmt/format.h>

#include "presets/load.hpp"
#include "report/software.hpp"
#include "report/stages.hpp"

namespace llmcalc {
namespace {

/// What the plan has by default; an answer follows from the options in effect, given or not.
LeftToSoftware left_by(const Request& r) {
  const Plan& p = r.plan;
  const bool usual_weights = p.weight_precision.uniform() && p.weight_precision[Component::mlp] == working_format(p);
  return {.logits = p.logits.format == LogitFormat::fp32 && p.logits.chunks == 1,
          .glu = p.glu_store == GluStore::all,
          .weights = usual_weights,
          .gradients = p.gradient_bytes == 4,
          .reshard = true};
}

/// The software stores in its own formats what no option states.
std::string tensors_note(const ProcessEstimate& p) {
  return p.fullest().tensors == p.tensors ? "the peak above" : "in the software's own formats";
}

double needed_bytes(const ProcessEstimate& p) { return static_cast<double>(needed(p.fullest()).value); }
double low_of(const ProcessEstimate& p) { return needed_bytes(p) / p.interval.factor; }
double high_of(const ProcessEstimate& p) { return needed_bytes(p) * p.interval.factor; }

void add_sums(Section& s, const ProcessEstimate& p) {
  s.add("needed_bytes", "needed", needed(p.fullest()),
        fmt::format("{} in 9 of 10 cases", interval_text(low_of(p), high_of(p), Unit::bytes)));
  s.add("needed_low_bytes", "", Bytes(static_cast<Count>(low_of(p))));
  s.add("needed_high_bytes", "", Bytes(static_cast<Count>(high_of(p))));
  if (const auto slack = p.fullest().slack) s.add("slack_bytes", "slack", *slack, "given back when memory is short");
  s.add("total_bytes", "sum", total(p.fullest()), "as nvidia-smi shows it");
}

/// The software whose process is known on the device.
std::optional<SoftwareCard> process_software(const Request& r) {
  if (!r.hardware || !has_known_process(*r.hardware)) return std::nullopt;
  SoftwareCard card = r.software ? *r.software : load_software(usual_software(r));
  return card.memory ? std::optional(std::move(card)) : std::nullopt;
}

}  // namespace

bool has_process_estimate(const Request& r) { return process_software(r).has_value(); }

std::optional<ProcessEstimate> process_estimate(const Request& r) {
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
      .tensors = stages_of(r).fullest().memory.peak,
      .interval = e.interval(memory_class(MemoryKind::process))};
}

bool fits(const ProcessEstimate& p, const Device& device) { return needed(p.fullest()) <= device.memory; }

std::string process_text(const ProcessEstimate& p) {
  return fmt::format("needs about {} ({})", human_text(Quantity(needed(p.fullest()).value), Unit::bytes),
                     interval_text(low_of(p), high_of(p), Unit::bytes));
}

Bytes usable_memory(const Request& r) {
  const auto all = static_cast<double>(r.hardware->cluster.device.memory.value);
  return Bytes(static_cast<Count>(r.plan.memory_utilization * all));
}

Section process_section(const Request& r) {
  Section s{"memory.process", "", {}};
  const auto p = process_estimate(r);
  if (!p) return s;
  s.title = fmt::format("a training process of {}, per GPU, estimated", p->software);
  s.add("software", "", p->software);
  s.add("tensors_bytes", "tensors", p->fullest().tensors, tensors_note(*p));
  for (const ProcessTerm& t : memory_terms)
    if (const std::optional<Bytes>& b = p->fullest().*t.bytes; b && t.bytes != &ProcessMemory::slack)
      s.add(fmt::format("{}_bytes", t.name), std::string(t.label), *b, std::string(t.meaning));
  add_sums(s, *p);
  s.add("fits", "fits", fits(*p, r.hardware->cluster.device));
  return s;
}

json::Value process_json(const ProcessMemory& m) {
  json::Value v{{"tensors_bytes", m.tensors.value}, {"needed_bytes", needed(m).value}, {"total_bytes", total(m).value}};
  for (const ProcessTerm& t : memory_terms)
    if (const std::optional<Bytes>& b = m.*t.bytes) v[fmt::format("{}_bytes", t.name)] = b->value;
  return v;
}

}  // namespace llmcalc
