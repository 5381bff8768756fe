#include "report/train/process_section.hpp"

#include <fmt/format.h>

#include "ask/request/request.hpp"
#include "ask/request/software.hpp"
#include "report/interval.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// A note on the tensors: the software uses its own formats for tensors whose format no option sets.
std::string tensors_note(const ProcessEstimate& p) {
  return p.fullest().tensors == p.tensors ? "the peak above" : "in the formats of the software";
}

void add_sums(Section& s, const ProcessEstimate& p) {
  s.add("needed_bytes", "needed", p.needed(),
        fmt::format("{} in 9 of 10 cases", interval_text(p.needed_low(), p.needed_high(), Unit::bytes)));
  s.add("needed_low_bytes", "", p.low());
  s.add("needed_high_bytes", "", p.high());
  if (const auto slack = p.fullest().slack) s.add("slack_bytes", "slack", *slack, "released when memory is short");
  s.add("total_bytes", "sum", total(p.fullest()), "as reported by nvidia-smi");
}

}  // namespace

Section process_section(const TrainingAnswer& a) {
  Section s{"memory.process", "", {}};
  const auto& p = a.process();
  if (!p) return s;
  s.title = fmt::format("{} training process, per GPU, estimated", p->software);
  s.add("software", "", p->software);
  s.add("tensors_bytes", "tensors", p->fullest().tensors, tensors_note(*p));
  for (const ProcessTerm& t : memory_terms)
    if (const std::optional<Bytes>& b = p->fullest().*t.bytes; b && t.bytes != &ProcessMemory::slack)
      s.add(fmt::format("{}_bytes", t.name), std::string(t.label), *b, std::string(t.meaning));
  add_sums(s, *p);
  s.add("fits", "fits", a.process_fits());
  return s;
}

json::Value process_json(const ProcessMemory& m) {
  json::Value v{{"tensors_bytes", m.tensors.value}, {"needed_bytes", needed(m).value}, {"total_bytes", total(m).value}};
  for (const ProcessTerm& t : memory_terms)
    if (const std::optional<Bytes>& b = m.*t.bytes) v[fmt::format("{}_bytes", t.name)] = b->value;
  return v;
}

}  // namespace llmcalc
