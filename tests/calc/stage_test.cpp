// Micro-batches kept by pipeline stages, and the fullest stage.

#include "calc/pipeline/in_flight.hpp"
#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("skipping rounds of an automatic schedule does not change the bytes kept", "[train]") {
  for (const Schedule s : {Schedule::zb_1p, Schedule::zb_2p, Schedule::zb_v})
    for (Count stages = 2; stages <= 8; ++stages)
      for (const Count micro_batches : {1, 2, 3, 5, 8, 13, 21, 34, 55, 144}) {
        const Pipeline p{.schedule = s, .ranks = stages, .chunks = fixed_chunks(s), .micro_batches = micro_batches};
        Partition partition;
        std::vector<ChunkTime> times;
        std::vector<ChunkSaved> saved;
        for (Count q = 0, end = 0; q < model_chunks(p); ++q) {
          const Count layers = 3 + q % 2;  // stages of uneven length
          const Seconds t(static_cast<double>(layers));
          partition.end_at(end += layers);
          times.push_back({t, t, t});
          saved.push_back({Bytes(10 * layers + (q == 0 ? 1 : 0)), Bytes(3 * layers)});
        }
        MakespanWorkspace room, whole;
        run_automatic(p, partition, room);
        whole_makespan(p, {times}, whole);
        for (Count r = 0; r < stages; ++r) {
          std::vector<SavedCount> a(2 * static_cast<std::size_t>(p.chunks)), b = a;
          CHECK(most_saved(p, room.slots(r), saved, a) == most_saved(p, whole.slots(r), saved, b));
          for (std::size_t i = 0; i < static_cast<std::size_t>(p.chunks); ++i) CHECK(a[i] == b[i]);
        }
      }
}

TEST_CASE("among stages with equal peaks, the first is reported as the fullest", "[train]") {
  Arch a = even();
  a.layers = 8;
  Plan plan;
  plan.seq = 512;
  plan.global_batch = 16;
  const Cluster c = device(300e12, 2e12, 300e9);
  for (const auto& [schedule, chunks] : {std::pair{Schedule::gpipe, 1},
                                         {Schedule::one_f_one_b, 1},
                                         {Schedule::interleaved, 2},
                                         {Schedule::zb_h2, 1},
                                         {Schedule::zb_v, 2}}) {
    const Layout l{.pp = 4, .chunks = chunks, .schedule = schedule};
    const Prices prices = price(a, plan, l, c.device);
    const Partition p = partition(prices, plan, l, c);
    const Stage fullest = fullest_stage(prices, plan, l, p);
    for (Count r = 0; r < 4; ++r) {
      const Bytes peak = stage(prices, plan, l, p, r).memory.peak;
      CHECK(peak <= fullest.memory.peak);
      if (r < fullest.rank) CHECK(peak < fullest.memory.peak);
      if (r == fullest.rank) CHECK(peak == fullest.memory.peak);
    }
  }
}

TEST_CASE("the head's stage stores its states and a micro-batch's logits even with full recomputation", "[train]") {
  Arch a = even();
  a.layers = 8;
  a.vocabulary = 200'000;
  Plan plan;
  plan.seq = 512;
  plan.global_batch = 32;
  plan.micro_batch = 2;
  plan.recompute = Recompute::full;
  const Cluster c = device(300e12, 2e12, 300e9);
  for (const auto& [schedule, chunks] : {std::pair{Schedule::interleaved, 2},
                                         {Schedule::interleaved, 4},
                                         {Schedule::zb_v, 2},
                                         {Schedule::zb_1p, 1},
                                         {Schedule::zb_2p, 1},
                                         {Schedule::dualpipe, 2},
                                         {Schedule::dualpipe_v, 2}}) {
    const Layout l{.pp = 2, .chunks = chunks, .schedule = schedule};
    const Prices prices = price(a, plan, l, c.device);
    const Partition p = partition(prices, plan, l, c);
    for (Count r = 0; r < 2; ++r) {
      const Memory m = stage(prices, plan, l, p, r).memory;
      CHECK(m.peak >= m.weights + m.gradients + m.optimizer + m.logits);
    }
  }
}

TEST_CASE("the host stores offloaded bytes of all micro-batches in flight, regardless of the device's peak",
          "[train]") {
  Arch a = even();
  a.layers = 8;
  Plan plan;
  plan.seq = 512;
  plan.global_batch = 32;
  plan.offload.activations = {1, 1};
  Cluster c = device(300e12, 2e12, 300e9);
  c.device.host = {BytesPerSecond(63e9), BytesPerSecond(2e11)};
  const auto on_host = [&](Schedule schedule, Count rank) {
    const Layout l{.pp = 4, .schedule = schedule};
    const Prices prices = price(a, plan, l, c.device);
    return stage(prices, plan, l, partition(prices, plan, l, c), rank).memory.host;
  };
  for (const Count rank : {0, 1, 2, 3}) CHECK(on_host(Schedule::zb_h1, rank) == on_host(Schedule::one_f_one_b, rank));
}
