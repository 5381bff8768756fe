#include "ask/request/check/trained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ask/request/options/option_values.hpp"
#include "calc/price.hpp"
#include "calc/training/adapter.hpp"
#include "presets/formats/weight_formats.hpp"

namespace llmcalc {
namespace {

/// The adapted matrix with the fewest inputs or outputs. An adapter whose rank equals this number is no smaller than
/// the matrix, so the full matrix could be trained instead.
struct Narrowest {
  std::string_view name;
  Count in = 0, out = 0;
  Count least() const { return std::min(in, out); }
};
std::optional<Narrowest> narrowest_adapted(const Arch& arch, const Plan& plan) {
  std::optional<Narrowest> found;
  for_each_operator(arch, {}, {}, {.training = true}, [&](const OperatorRow& row) {
    const Linear* l = std::get_if<Linear>(&row.op.shape);
    if (l == nullptr || !adapter_names(plan.lora_targets, row.op.name)) return;
    if (!found || std::min(l->in, l->out) < found->least()) found = {row.op.name, l->in, l->out};
  });
  return found;
}

/// The rank of the adapters must be below the dimensions of the matrices, and ZeRO 3 requires weights of a single
/// format.
void check_adapters(const Request& r) {
  const Plan& p = r.plan;
  if (!trains_adapters(p)) return;
  const auto m = narrowest_adapted(r.model.arch, p);
  if (!m && p.lora_targets == LoraTargets::all())
    throw InputError(fmt::format("--lora {}: {} has no matching matrices (projections of attention and MLP); omit it",
                                 p.lora_rank, r.model.name));
  if (!m)
    throw InputError(fmt::format("--lora {}: {} has no matching matrices; specify others, or only the rank",
                                 lora_text(p.lora_rank, p.lora_targets), r.model.name));
  if (p.lora_rank >= m->least())
    throw InputError(fmt::format("--lora {} is not below the {} {} of {} in {}; use a lower rank", p.lora_rank,
                                 m->least(), m->in < m->out ? "inputs" : "outputs", m->name, r.model.name));
  if (r.layout.zero == Zero::weights && !gathers_weights(p))
    throw InputError(
        fmt::format("--zero 3 gathers weights of a single format, but the frozen weights are {}; set --zero 2, or "
                    "--base-precision {}",
                    weight_formats_text(p.base_precision), training_weights(p).name()));
}

/// Numbers of frozen and trained parameters.
Learned held_with(const Arch& arch, const Frozen& frozen) {
  Learned all;
  const Step step{.training = true, .frozen = frozen};
  for_each_operator(arch, {}, {}, step, [&](const OperatorRow& row) { all += row.segment.repeats * learned(row.op); });
  return all;
}

/// Throws InputError if the model has no weights in a frozen part.
void check_part(const Request& r, FreezePart part) {
  const Arch& a = r.model.arch;
  if (held_with(a, {.parts = part}).frozen > 0) return;
  if (part == FreezePart::head)
    throw InputError(
        fmt::format("--freeze head: the head of {} is tied to its embedding; use embedding", r.model.name));
  throw InputError(fmt::format("--freeze {}: {} has no weights of this kind; omit it", name(part), r.model.name));
}

void check_frozen(const Request& r) {
  const Frozen& f = r.plan.frozen;
  const Arch& a = r.model.arch;
  if (f.empty()) return;
  if (trains_adapters(r.plan))
    throw InputError("--lora already freezes all weights except its adapters; omit --freeze");
  if (f.layers.last() >= a.layers)
    throw InputError(fmt::format("--freeze layers:{}: {} has layers 0 to {}; use these", f.layers.last(), r.model.name,
                                 a.layers - 1));
  if (a.has_repeats() && !f.layers.empty())
    throw InputError(fmt::format(
        "--freeze layers: some layers of {} share weights, so layers cannot be frozen individually; freeze a "
        "part in all layers, such as attention or mlp",
        r.model.name));
  for (const auto& row : choices<FreezePart>)
    if (f.parts.has(row.value)) check_part(r, row.value);
  if (held_with(a, f).trained() == 0)
    throw InputError(
        fmt::format("--freeze {} leaves no weights of {} to train; omit a part", freeze_text(f), r.model.name));
}

}  // namespace

void check_trained(const Request& r) {
  check_adapters(r);
  check_frozen(r);
}

}  // namespace llmcalc
