// The step of every pipeline schedule, compared with a simulation of its slots.

#include "tests/oracle/pipeline_simulator.hpp"

#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using oracle::Job;

namespace {

/// A layer's times and parameters, and the links: a message takes its latency plus the transfer of 8 tokens of 64
/// two-byte values.
struct Sizes {
  double forward = 1, inputs = 1, weights = 1;
  Count learned = 1'000'000'000;
  static constexpr double memory = 1e11, link = 1e9, latency = 0.5, message = latency + 8 * 64 * 2 / link;
};

struct Case {
  Pipeline p;
  std::vector<Count> layers;  ///< by model chunk
  Sizes sizes;
};

// ---- orders, from the papers

void add(oracle::RankSlots& slots, std::initializer_list<Job::Kind> kinds, int chunk, Count micro_batch) {
  oracle::Slot slot;
  for (const Job::Kind k : kinds) slot.push_back({k, 0, chunk, static_cast<int>(micro_batch)});
  slots.push_back(slot);
}

/// GPipe (arXiv:1811.06965): all forwards, all backwards. 1F1B (arXiv:2006.09503): P - r - 1 forwards ahead. ZB-H1 and
/// ZB-H2 (arXiv:2401.10241): once and twice as many forwards ahead, and weight gradients delayed by r and 2 r
/// backwards.
oracle::RankSlots one_chunk(const Pipeline& p, Count r) {
  const Count m = p.micro_batches, far = p.schedule == Schedule::zb_h2 ? 2 : 1;
  const bool split = p.schedule == Schedule::zb_h1 || p.schedule == Schedule::zb_h2;
  const Count ahead = p.schedule == Schedule::gpipe ? m : std::min(m, far * (p.ranks - r - 1)), late = far * r;
  const int chunk = static_cast<int>(r);
  oracle::RankSlots slots;
  for (Count i = 0; i < ahead; ++i) add(slots, {Job::forward}, chunk, i);
  for (Count i = 0; i < m; ++i) {
    if (i + ahead < m) add(slots, {Job::forward}, chunk, i + ahead);
    if (!split) add(slots, {Job::inputs, Job::weights}, chunk, i);
    if (split) add(slots, {Job::inputs}, chunk, i);
    if (split && i >= late) add(slots, {Job::weights}, chunk, i - late);
  }
  for (Count i = std::max<Count>(0, m - late); split && i < m; ++i) add(slots, {Job::weights}, chunk, i);
  return slots;
}

/// Interleaved 1F1B (arXiv:2104.04473) as in Megatron-LM: groups of P micro-batches, chunk after chunk.
oracle::RankSlots interleaved(const Pipeline& p, Count r) {
  const Count n = p.micro_batches * p.chunks, ahead = std::min(n, 2 * (p.ranks - r - 1) + (p.chunks - 1) * p.ranks);
  oracle::RankSlots slots;
  const auto put = [&](Count k, bool forward) {
    const Count group = k / (p.ranks * p.chunks), turn = k % (p.ranks * p.chunks) / p.ranks;
    const int chunk = static_cast<int>(r + p.ranks * (forward ? turn : p.chunks - 1 - turn));
    const Count micro_batch = group * p.ranks + k % p.ranks;
    if (forward) return add(slots, {Job::forward}, chunk, micro_batch);
    add(slots, {Job::inputs, Job::weights}, chunk, micro_batch);
  };
  for (Count k = 0; k < ahead; ++k) put(k, true);
  for (Count k = 0; k < n; ++k) {
    if (k + ahead < n) put(k + ahead, true);
    put(k, false);
  }
  return slots;
}

// ---- the other orders are the engine's slots, taken as data

/// The model chunk of local chunk 0 or 1 of a rank. In a V schedule, local chunk 1 is on the way back; in DualPipe it
/// is part of the model copy that starts at the last rank.
int chunk_of(const Pipeline& p, Count r, Count local) {
  if (local == 0) return static_cast<int>(r);
  return static_cast<int>((p.schedule == Schedule::dualpipe ? p.ranks : 2 * p.ranks) - 1 - r);
}
oracle::Slot of_engine(const Pipeline& p, Count r, const Slot& s) {
  oracle::Slot slot;
  const auto put = [&](Job::Kind kind, Count local, Count micro_batch) {
    const int copy = p.schedule == Schedule::dualpipe ? static_cast<int>(local) : 0;
    slot.push_back({kind, copy, chunk_of(p, r, local), static_cast<int>(micro_batch)});
  };
  if (runs_forward(s.kind)) put(Job::forward, s.chunk, s.micro_batch);
  if (runs_backward(s.kind)) put(Job::inputs, gradient_chunk(s), gradient_micro_batch(s));
  if (runs_weights(s.kind)) put(Job::weights, gradient_chunk(s), gradient_micro_batch(s));
  return slot;
}

double seconds_of(const Case& c, const Job& j) {
  const Sizes& s = c.sizes;
  const double n = static_cast<double>(c.layers[static_cast<std::size_t>(j.chunk)]);
  return n * (j.kind == Job::forward ? s.forward : j.kind == Job::inputs ? s.inputs : s.weights);
}

std::vector<oracle::RankSlots> engine_orders(const Case& c) {
  const Pipeline& p = c.p;
  std::vector<oracle::RankSlots> ranks(static_cast<std::size_t>(p.ranks));
  std::vector<ChunkTime> times;
  for (std::size_t q = 0; q < c.layers.size(); ++q) {
    const auto of = [&](Job::Kind kind) { return Seconds(seconds_of(c, {kind, 0, static_cast<int>(q), 0})); };
    times.push_back({of(Job::forward), of(Job::inputs), of(Job::weights)});
  }
  const std::vector<Seconds> sends(c.layers.size() - 1, Seconds(Sizes::message));
  MakespanWorkspace room;
  if (automatic(p.schedule)) whole_makespan(p, {times, sends}, room);
  for (Count r = 0; r < p.ranks; ++r) {
    const auto put = [&](const Slot& s) { ranks[static_cast<std::size_t>(r)].push_back(of_engine(p, r, s)); };
    if (!automatic(p.schedule)) for_each_slot(p, r, put);
    if (automatic(p.schedule))
      for (const Slot& s : room.slots(r)) put(s);
  }
  return ranks;
}

std::vector<oracle::RankSlots> orders(const Case& c) {
  std::vector<oracle::RankSlots> ranks;
  if (splits_backward(c.p.schedule) && c.p.schedule != Schedule::zb_h1 && c.p.schedule != Schedule::zb_h2)
    return engine_orders(c);
  for (Count r = 0; r < c.p.ranks; ++r)
    ranks.push_back(c.p.schedule == Schedule::interleaved ? interleaved(c.p, r) : one_chunk(c.p, r));
  return ranks;
}

// ---- a step

Count layers_of(const Case& c, Count rank) {
  Count all = 0;
  for (Count local = 0; local < c.p.chunks; ++local) {
    const Count q = c.p.schedule == Schedule::interleaved ? rank + local * c.p.ranks : chunk_of(c.p, rank, local);
    all += c.layers[static_cast<std::size_t>(q)];
  }
  return all;
}
/// Seconds of a rank's update: Adam reads and writes a master copy and two moments of 4 bytes, reads gradients of 4 and
/// writes weights of 2.
double update_of(const Case& c, Count rank) {
  return static_cast<double>(layers_of(c, rank) * c.sizes.learned) * (2 * 12 + 4 + 2) / Sizes::memory;
}
/// Seconds that DualPipe's two model copies take to reduce their gradients; 0 for other schedules.
double sums_of(const Case& c, Count rank) {
  if (c.p.schedule != Schedule::dualpipe) return 0;
  return Sizes::latency + static_cast<double>(layers_of(c, rank) * c.sizes.learned) * 4 / Sizes::link;
}

oracle::Machine machine_of(const Case& c) {
  const Pipeline& p = c.p;
  const auto rank = [p](const Job& j) {
    const auto ranks = static_cast<int>(p.ranks);
    if (j.kind == Job::update) return j.chunk;
    if (p.schedule == Schedule::interleaved) return j.chunk % ranks;
    if (p.schedule == Schedule::dualpipe) return j.copy == 0 ? j.chunk : ranks - 1 - j.chunk;
    return j.chunk < ranks ? j.chunk : 2 * ranks - 1 - j.chunk;
  };
  const auto seconds = [&c](const Job& j) { return j.kind == Job::update ? update_of(c, j.chunk) : seconds_of(c, j); };
  return {static_cast<int>(c.layers.size()) - 1, Sizes::message, seconds, rank};
}

bool goes_on_alone(Schedule s) { return s == Schedule::zb_h2 || s == Schedule::zb_2p || s == Schedule::zb_v; }

/// Seconds of a step. All ranks update together, after the last one has reduced its gradients. With updates validated
/// afterward (arXiv:2401.10241, section 4) a step is the longest time of a rank from its first forward to the end of
/// its update.
double step_of(const Case& c) {
  const oracle::Run run = oracle::simulate(orders(c), machine_of(c));
  double summed = 0, updated = 0, longest = 0;
  for (Count r = 0; r < c.p.ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    summed = std::max(summed, run.last[i] + sums_of(c, r));
    updated = std::max(updated, update_of(c, r));
    longest = std::max(longest, run.last[i] + update_of(c, r) - run.first[i]);
  }
  return goes_on_alone(c.p.schedule) ? longest : summed + updated;
}

/// Seconds per step in a run of many steps: each rank starts the next step's slots right after its own update.
double step_among_many(const Case& c) {
  constexpr int steps = 12, counted = 6;
  const std::vector<oracle::RankSlots> one = orders(c);
  std::vector<oracle::RankSlots> all(one.size());
  for (int step = 0; step < steps; ++step)
    for (std::size_t r = 0; r < one.size(); ++r) {
      for (oracle::Slot slot : one[r]) {
        for (Job& j : slot) j.micro_batch += step * static_cast<int>(c.p.micro_batches);
        all[r].push_back(slot);
      }
      all[r].push_back({{Job::update, 0, static_cast<int>(r), step}});
    }
  const oracle::Run run = oracle::simulate(all, machine_of(c));
  const auto end = [&](int step) { return run.ends.at({Job::update, 0, 0, step}); };
  return (end(steps - 1) - end(steps - 1 - counted)) / counted;
}

PassPrice pass(double seconds) {
  PassPrice p;
  p.bound.compute = p.bound_work.matmul = Seconds(seconds);
  return p;
}

/// The engine's step of the same layers, without embedding and head.
double step_of_engine(const Case& c) {
  Arch a = even();
  a.layers = 0;
  for (const Count n : c.layers) a.layers += n;
  Plan plan;
  plan.seq = 8;
  plan.global_batch = c.p.micro_batches;
  Prices prices = price(a, plan, {}, device(1e12, Sizes::memory).device);
  for (LayerPrice& row : prices.rows) {
    const double one = row.segment == SegmentKind::block ? 1 : 0;
    row.forward = pass(one * c.sizes.forward);
    row.backward_input = pass(one * c.sizes.inputs);
    row.backward_weight = pass(one * c.sizes.weights);
    row.learned = row.experts = row.tied = {};
    row.learned.total = row.segment == SegmentKind::block ? c.sizes.learned : 0;
    row.summed = 0;
  }
  Layout l{.pp = c.p.ranks, .chunks = c.p.chunks, .schedule = c.p.schedule};
  for (const Count n : c.layers) l.stage_layers.push(n);
  Cluster cluster = device(1e12, Sizes::memory, Sizes::link, Sizes::latency);
  cluster.levels[0].ranks = 0;
  return assemble(prices, plan, l, cluster).bound.total().value;
}

/// Calls visit(case) for every valid combination of schedule and sizes; layers: equal, or 1 to 4.
template <typename Visit>
void for_each_case(bool equal, const Visit& visit) {
  unsigned seed = 1;
  for (const Schedule s : pipeline_tests::all_schedules)
    for (const Count ranks : {2, 3, 4, 6})
      for (const Count chunks : {1, 2, 3})
        for (const Count m : {1, 4, 7, 12, 24})
          for (const Sizes& sizes : {Sizes{}, Sizes{3, 4, 2}, Sizes{2.5, 2, 3.25}}) {
            Case c{{s, ranks, chunks, m}, {}, sizes};
            if (flaw(c.p) != PipelineFlaw::none) continue;
            for (Count q = 0; q < model_chunks(c.p); ++q) {
              seed = seed * 1664525 + 1013904223;
              c.layers.push_back(equal ? 2 : 1 + seed / 65536 % 4);
            }
            visit(c);
          }
}

std::string text(const Case& c) {
  return std::string(name(c.p.schedule)) + " of " + std::to_string(c.p.ranks) + " x " + std::to_string(c.p.chunks) +
         ", " + std::to_string(c.p.micro_batches) + " micro-batches, F " + std::to_string(c.sizes.forward);
}

}  // namespace

TEST_CASE("the step time of every schedule matches the simulation", "[oracle][pipeline]") {
  int cases = 0;
  for (const bool equal : {true, false})
    for_each_case(equal, [&](const Case& c) {
      INFO(text(c) << (equal ? "" : ", unequal layers"));
      CHECK(step_of_engine(c) == Approx(step_of(c)).epsilon(1e-12));
      ++cases;
    });
  CHECK(cases > 900);
}

TEST_CASE("with independent rank updates, the time per step over many steps matches a single step",
          "[oracle][pipeline]") {
  for (const bool equal : {true, false})
    for_each_case(equal, [&](const Case& c) {
      if (!goes_on_alone(c.p.schedule)) return;
      INFO(text(c) << (equal ? "" : ", unequal layers"));
      const double many = step_among_many(c), one = step_of_engine(c);
      if (equal) CHECK(one == Approx(many).epsilon(1e-9));
      CHECK(many <= one * (1 + 1e-9));  // ranks with unequal work drift apart, which never increases their waiting
    });
}
