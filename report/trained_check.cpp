#include "report/trained_check.hpp"

#include <fmt/format.h>

#include "calc/price.hpp"
#include "presets/weight_formats.hpp"
#include "report/option_values.hpp"

namespace llmcalc {
namespace {

/// Adapters are narrower than the matrices beside which they stand, and ZeRO-3 shards plain numbers.
void check_adapters(const Request& r) {
  const Plan& p = r.plan;
  if (!trains_adapters(p)) return;
  if (p.lora_rank > r.model.arch.hidden)
    throw InputError(fmt::format("--lora {} is more than the hidden size of {}, {}; give a rank below it", p.lora_rank,
                                 r.model.name, r.model.arch.hidden));
  if (r.layout.zero == Zero::weights && !gathers_weights(p))
    throw InputError(
        fmt::format("--zero 3 gathers weights of one format, and the frozen ones are {}; give --zero 2, or "
                    "--base-precision {}",
                    weight_formats_text(p.base_precision), training_weights(p).name()));
}

/// Numbers that are frozen, and that are not.
Learned held_with(const Arch& arch, const Frozen& frozen) {
  Learned all;
  const Step step{.training = true, .frozen = frozen};
  for_each_operator(arch, {}, {}, step, [&](const OperatorRow& row) { all += row.segment.repeats * learned(row.op); });
  return all;
}

/// A part that the model does not have is a mistake.
void check_part(const Request& r, FreezePart part) {
  const Arch& a = r.model.arch;
  if (held_with(a, {.parts = part}).frozen > 0) return;
  if (part == FreezePart::head)
    throw InputError(fmt::format("--freeze head: the head of {} is its token table; give embedding", r.model.name));
  throw InputError(fmt::format("--freeze {}: {} has no weights of that kind; leave it out", name(part), r.model.name));
}

void check_frozen(const Request& r) {
  const Frozen& f = r.plan.frozen;
  const Arch& a = r.model.arch;
  if (f.empty()) return;
  if (trains_adapters(r.plan)) throw InputError("--lora freezes all but its adapters; leave out --freeze");
  if (f.layers.last() >= a.layers)
    throw InputError(fmt::format("--freeze layers:{}: {} has layers 0 to {}; give these", f.layers.last(), r.model.name,
                                 a.layers - 1));
  for (const auto& row : choices<FreezePart>)
    if (f.parts.has(row.value)) check_part(r, row.value);
  if (held_with(a, f).trained() == 0)
    throw InputError(
        fmt::format("--freeze {} leaves nothing of {} to train; leave a part out", freeze_text(f), r.model.name));
}

}  // namespace

void check_trained(const Request& r) {
  check_adapters(r);
  check_frozen(r);
}

}  // namespace llmcalc
