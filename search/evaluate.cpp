#include "search/evaluate.hpp"

namespace llmcalc {

Bytes term(const Memory& m, HeldTerm t) {
  constexpr std::array fields{&Memory::weights,  &Memory::gradients, &Memory::optimizer, &Memory::activations,
                              &Memory::logits,   &Memory::workspace, &Memory::gathered,  &Memory::buckets,
                              &Memory::exchange, &Memory::transit,   &Memory::process};
  static_assert(fields.size() == memory_term_count);
  return m.*fields[static_cast<std::size_t>(t)];
}

Evaluated evaluate(const Space& space, const Candidate& c) {
  Evaluated e{.objection = objection(space, c)};
  if (!e.possible()) return e;
  const TrainEstimate t = train(space.arch, plan_of(space, c), layout_of(space, c), space.cluster);
  const Seconds step = t.estimate.total();
  e.found = {c, step, t.memory.peak, value_of(space, c.gpus, step, t.memory.peak)};
  e.memory = t.memory;
  e.time = t.estimate;
  e.fits = t.memory.peak <= usable(space);
  return e;
}

GrownTerm most_grown(const Memory& a, const Memory& b) {
  GrownTerm most;
  for (std::size_t i = 0; i < memory_term_count; ++i) {
    const auto t = static_cast<HeldTerm>(i);
    const Bytes by = term(b, t) - term(a, t);
    if (i == 0 || by > most.by) most = {t, by};
  }
  return most;
}

GrownPart most_grown(const StepTime& a, const StepTime& b) {
  GrownPart most;
  for (std::size_t i = 0; i < part_count; ++i) {
    const auto p = static_cast<Part>(i);
    const Seconds by = b[p] - a[p];
    if (i == 0 || by > most.by) most = {p, by};
  }
  return most;
}

}  // namespace llmcalc
