#pragma once
/// Search spaces for tests, and their exhaustive evaluation.

#include "search/search.hpp"
#include "tests/calc/engine_archs.hpp"

namespace llmcalc::test {

/// Nodes of four devices with a fast link, and a slower one between nodes.
inline Cluster nodes(Count memory) {
  Cluster c = device(300e12, 2e12, 300e9, 5e-6);
  c.levels[0].ranks = 4;
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(25e9), .latency = Seconds(1e-5)});
  c.device.memory = Bytes(memory);
  return c;
}

inline Space space_of(const Arch& a, Count gpus, Count memory, Count seq, Count global_batch) {
  Space s;
  s.arch = a;
  s.plan.seq = seq;
  s.plan.global_batch = global_batch;
  s.cluster = nodes(memory);
  s.gpus = {gpus};
  return s;
}

inline Arch with_layers(Arch a, Count layers) {
  a.layers = layers;
  if (a.has_experts()) a.moe.layers = LayerSet::all(layers);
  return a;
}

/// Calls visit(candidate) for all values in [1, gpus] of every kind, valid or not.
template <typename Visit>
void for_each_grid_point(const Space& s, const Visit& visit) {
  Candidate c;
  c.gpus = s.gpus[0];
  const std::array schedules{Schedule::one_f_one_b, Schedule::zb_h1, Schedule::zb_h2, Schedule::zb_v,
                             Schedule::interleaved};
  for (c.tp = 1; c.tp <= c.gpus; ++c.tp)
    for (c.cp = 1; c.cp <= c.gpus; ++c.cp)
      for (c.pp = 1; c.pp <= c.gpus; ++c.pp) {
        if (c.gpus % (c.tp * c.cp * c.pp) != 0) continue;
        c.dp = c.gpus / (c.tp * c.cp * c.pp);
        for (c.micro_batch = 1; c.micro_batch <= s.plan.global_batch; c.micro_batch *= 2)
          for (c.ep = 1; c.ep <= (s.arch.has_experts() ? c.gpus : 1); ++c.ep)
            for (c.etp = 0; c.etp <= (s.arch.has_experts() && c.tp > 1 ? 1 : 0); ++c.etp)
              for (const bool sp : {false, true})
                for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full})
                  for (const Zero z : {Zero::none, Zero::optimizer, Zero::gradients, Zero::weights})
                    for (const Schedule o : schedules)
                      for (c.chunks = 1; c.chunks <= s.arch.layers; ++c.chunks) {
                        c.sp = sp;
                        c.recompute = r;
                        c.zero = z;
                        c.schedule = o;
                        visit(c);
                      }
      }
}

/// Whether train() accepts a candidate, and whether the candidate differs from simpler ones.
inline bool is_plan(const Space& s, const Candidate& c) {
  const Layout l = layout_of(s, c);
  const Plan p = plan_of(s, c);
  if (p.global_batch % (c.micro_batch * c.dp) != 0 || flaw(s.arch, l, p.seq) != LayoutFlaw::none) return false;
  if (c.pp == 1 && (c.chunks > 1 || c.schedule != Schedule::one_f_one_b)) return false;
  if (c.pp * c.chunks > s.arch.layers || flaw(pipeline_of(p, l)) != PipelineFlaw::none) return false;
  const bool shards = ranks(l, Group::data) > 1 || ranks(l, Group::expert_data) > 1;
  if (c.zero == Zero::none || shards) return true;
  const bool moves = c.zero == Zero::gradients || (c.zero == Zero::weights && p.offload.weights.numerator > 0);
  return moves && p.offload.optimizer.numerator > 0;
}

/// The candidate evaluated by train().
inline Found trained(const Space& s, const Candidate& c) {
  const TrainEstimate e = train(s.arch, plan_of(s, c), layout_of(s, c), s.cluster);
  const Seconds step = e.estimate.total();
  return {c, step, e.memory.peak, value_of(s, c.gpus, step, e.memory.peak)};
}

/// All plans of a space, evaluated by train().
inline std::vector<Found> all_trained(const Space& s) {
  std::vector<Found> all;
  for_each_grid_point(s, [&](const Candidate& c) {
    if (is_plan(s, c)) all.push_back(trained(s, c));
  });
  return all;
}

}  // namespace llmcalc::test
