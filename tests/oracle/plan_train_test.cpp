// `plan train` compared with loops over all layouts of a small space. The engine computes the seconds and bytes of each
// layout; the rules for layouts come from Megatron-LM's documentation, not from search/.

#include "search/search.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// A node of four devices, and a network around it.
Cluster small_cluster(Count memory) {
  Cluster c;
  c.device.memory = Bytes(memory);
  c.device.bandwidth = BytesPerSecond(2e12);
  c.device.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(3e14);
  c.levels.push({.ranks = 4, .bandwidth = BytesPerSecond(3e11), .latency = Seconds(5e-6)});
  c.levels.push({.ranks = 0, .bandwidth = BytesPerSecond(2.5e10), .latency = Seconds(1e-5)});
  return c;
}

Space space(const Arch& arch, Count gpus, Count memory) {
  Space s;
  s.arch = arch;
  s.plan.seq = 512;
  s.plan.global_batch = 8;
  s.cluster = small_cluster(memory);
  s.gpus = {gpus};
  return s;
}

/// 16 query and 8 KV heads, divisible by 1, 2, 4 and 8 ranks.
Arch four_layers() {
  Arch a = test::even();
  a.layers = 4;
  return a;
}

struct Tried {
  Count plans = 0, fitting = 0;
  double step = 1e300;          ///< seconds of the fastest plan that fits
  Count peak = Count{1} << 62;  ///< bytes of the smallest plan
};

void try_plan(const Space& s, const Layout& l, Count micro_batch, Recompute r, Tried& t) {
  Plan p = s.plan;
  p.micro_batch = micro_batch;
  p.recompute = r;
  const TrainEstimate e = train(s.arch, p, l, s.cluster);
  ++t.plans;
  if (e.memory.peak > s.cluster.device.memory) return;
  ++t.fitting;
  t.step = std::min(t.step, e.estimate.total().value);
  t.peak = std::min(t.peak, e.memory.peak.value);
}

/// Every schedule for the layers of `pp` stages: 1F1B, ZB-H1 and ZB-H2 with one chunk per stage; ZB-V with two;
/// interleaved with two or more, if the micro-batches come in groups of pp (Megatron-LM).
std::vector<std::pair<Schedule, Count>> schedules(Count layers, Count pp, Count micro_batches) {
  std::vector<std::pair<Schedule, Count>> all{{Schedule::one_f_one_b, 1}};
  if (pp == 1) return all;
  all.emplace_back(Schedule::zb_h1, 1);
  all.emplace_back(Schedule::zb_h2, 1);
  if (2 * pp <= layers) all.emplace_back(Schedule::zb_v, 2);
  for (Count chunks = 2; chunks * pp <= layers; ++chunks)
    if (micro_batches % pp == 0) all.emplace_back(Schedule::interleaved, chunks);
  return all;
}

/// Tries all layouts with axes in powers of two; ZeRO only with replicas.
Tried all_plans(const Space& s) {
  Tried t;
  const Count gpus = s.gpus[0], batch = s.plan.global_batch;
  for (Count tp = 1; tp <= gpus; tp *= 2)
    for (Count cp = 1; tp * cp <= gpus; cp *= 2)
      for (Count pp = 1; tp * cp * pp <= gpus && pp <= s.arch.layers; pp *= 2)
        for (Count micro = 1; micro <= batch; micro *= 2) {
          const Count dp = gpus / (tp * cp * pp);
          if (batch % (micro * dp) != 0) continue;
          const Count micro_batches = batch / (micro * dp);
          for (const auto& [schedule, chunks] : schedules(s.arch.layers, pp, micro_batches)) {
            for (const int sp : {0, 1})
              for (const int zero : {0, 1, 2, 3})
                for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
                  if ((sp == 1 && tp == 1) || (zero > 0 && dp * cp == 1)) continue;
                  Layout l;
                  l.tp = tp;
                  l.sp = sp == 1;
                  l.cp = cp;
                  l.pp = pp;
                  l.dp = dp;
                  l.zero = static_cast<Zero>(zero);
                  l.schedule = schedule;
                  l.chunks = chunks;
                  try_plan(s, l, micro, r, t);
                }
          }
        }
  return t;
}

}  // namespace

TEST_CASE("plan train finds the fastest and the smallest layout of a small search space", "[oracle][search]") {
  for (const Count gpus : {1, 2, 4, 8})
    for (const Count memory : {3'000'000, 6'000'000, 40'000'000}) {
      CAPTURE(gpus, memory);
      Space s = space(four_layers(), gpus, memory);
      const Tried all = all_plans(s);
      const SearchResult by_time = search(s);
      s.objective = Objective::memory;
      const SearchResult by_memory = search(s);
      CHECK(by_time.counts.fit == all.fitting);
      CHECK(by_time.counts.fit + by_time.counts.too_large == all.plans);
      CHECK(by_time.best.empty() == (all.fitting == 0));
      if (by_time.best.empty()) continue;
      CHECK(by_time.best[0].step.value == all.step);
      CHECK(by_memory.best[0].peak.value == all.peak);
    }
}
