#include "search/evaluate.hpp"

namespace llmcalc {

Bytes term(const Memory& m, HeldTerm t) {
  constexpr std::array fields{&Memory::weights,         &Memory::gradients, &Memory::optimizer, &Memory::activations,
                              &Memory::logits,          &Memory::workspace, &Memory::gathered,  &Memory::buckets,
                              &Memory::collective_call, &Memory::transit,   &Memory::process};
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
  e.fullest = t.fullest;
  e.time = t.estimate;
  e.host = t.host;
  e.fits = t.memory.peak <= usable(space) && space.cluster.device.host.holds(t.host);
  return e;
}

namespace {

/// The stage, in a plan with `stages` stages, at the same relative position as stage `rank` of a plan with `of_other`
/// stages.
Count same_place(Count rank, Count stages, Count of_other) {
  if (stages == of_other) return rank;
  return rank == of_other - 1 ? stages - 1 : rank * stages / of_other;
}

Memory memory_of_stage(const Space& space, const Evaluated& e, Count rank) {
  if (rank == e.fullest) return e.memory;
  const Plan plan = plan_of(space, e.found.candidate);
  const Layout layout = layout_of(space, e.found.candidate);
  const Prices prices = price(space.arch, plan, layout, space.cluster.device);
  return stage(prices, plan, layout, partition(prices, plan, layout, space.cluster), rank,
               space.cluster.device.achieved.overhead)
      .memory;
}

}  // namespace

GrownTerm most_grown(const Space& space, const Evaluated& before, const Evaluated& after) {
  const Count rank = same_place(after.fullest, before.found.candidate.pp, after.found.candidate.pp);
  const Memory a = memory_of_stage(space, before, rank), &b = after.memory;
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
