// A chunk's layers and their overlapped collectives, one layer at a time.

#include "calc/pipeline/chunk_time.hpp"

#include <algorithm>

#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A layer, embedding, head or MTP module, timed separately.
struct Unit {
  double forward = 0, backward = 0, weights = 0, gather = 0, reduce = 0;  ///< weights: weight-gradient part of backward
  bool outside = false;                                                   ///< embedding or head
  void add(const RowTime& t) {
    forward += t.forward.total().value;
    backward += t.backward().value;
    weights += t.backward_weight.total().value;
    gather += t.gather.value;
    reduce += t.reduce.value;
  }
};

Spent spent(double s) {
  Spent all;
  all[Part::matmul] = Seconds(s);
  return all;
}

struct Sample {
  Prices prices;
  RowTimes times;
  ModelChunk chunk;
  std::vector<Unit> units;  ///< in model order
};

Sample sample(Cases& cases) {
  Sample s;
  Arch a = cases.arch(3 + cases.below(9));
  Plan p;
  a.mtp.modules = p.mtp = cases.below(4);
  p.seq = 8;
  p.global_batch = 1;
  s.prices = price(a, p, {}, {});
  s.times.hidden = static_cast<double>(cases.below(3)) / 2;
  const auto some = [&] { return static_cast<double>(1 + cases.below(9)); };
  for (std::size_t i = 0; i < s.prices.rows.size(); ++i)
    s.times.rows.push({.forward = spent(some()),
                       .backward_input = spent(some()),
                       .backward_weight = spent(some()),
                       .gather = Seconds(some()),
                       .reduce = Seconds(some())});
  s.times.modules = p.mtp;
  const Count first = cases.below(a.layers), end = first + 1 + cases.below(a.layers - first);
  s.chunk = {first, end, cases.coin(), cases.coin()};
  const auto push = [&](const RowTime& t, bool outside) {
    s.units.emplace_back().add(t);
    s.units.back().outside = outside;
  };
  if (s.chunk.embedding) push(s.times.embedding(), true);
  for (Count i = first; i < end; ++i) push(s.times.layer(kind_index(s.prices.kinds, i)), false);
  if (s.chunk.head) push(s.times.head(), true);
  for (Count i = 0; i < (s.chunk.head ? p.mtp : 0); ++i) {
    s.units.emplace_back();
    for (const RowTime& part : s.times.mtp()) s.units.back().add(part);
  }
  return s;
}

ChunkSeconds seconds(const Sample& s, Zero zero, Count micro_batches = 1, bool reshard = true) {
  return chunk_seconds(s.prices, s.times, {.dp = 2, .zero = zero, .reshard = reshard}, s.chunk, micro_batches);
}
double sum(const Sample& s, double Unit::*part) {
  double all = 0;
  for (const Unit& u : s.units) all += u.*part;
  return all;
}
double beside(double a, double b, double hidden) { return std::max(a, b) + (1 - hidden) * std::min(a, b); }

/// Time from the end of backward to the last reduction. Units run from the last to the first; a unit's gradients are
/// reduced after its backward and all earlier reductions.
double summed_after_backward(const Sample& s, double Unit::*backward) {
  double now = 0, network = 0;
  for (std::size_t i = s.units.size(); i-- > 0;) {
    now += s.units[i].*backward;
    network = std::max(network, now) + s.units[i].reduce;
  }
  return std::max(network, now) - now;
}

}  // namespace

TEST_CASE("gradients are reduced layer by layer as they become ready", "[cluster][chunk_time]") {
  Cases cases(11);
  for (int i = 0; i < 500; ++i) {
    const Sample s = sample(cases);
    for (const Zero z : {Zero::none, Zero::optimizer, Zero::gradients}) {
      const ChunkSeconds t = seconds(s, z, 3);
      REQUIRE(t.reducing.value == Approx(summed_after_backward(s, &Unit::backward)).epsilon(1e-12).margin(1e-12));
      REQUIRE(t.reduction.value == sum(s, &Unit::reduce));
    }
  }
}

TEST_CASE("with a split backward, gradients are reduced during the weight-gradient pass", "[cluster][chunk_time]") {
  Cases cases(16);
  for (int i = 0; i < 500; ++i) {
    const Sample s = sample(cases);
    for (const Schedule schedule : pipeline_tests::all_schedules) {
      const Layout l{.pp = 2, .dp = 2, .schedule = schedule};
      const auto last = splits_backward(schedule) ? &Unit::weights : &Unit::backward;
      REQUIRE(chunk_seconds(s.prices, s.times, l, s.chunk).reducing.value ==
              Approx(summed_after_backward(s, last)).epsilon(1e-12).margin(1e-12));
    }
  }
}

TEST_CASE("updated weights are gathered unit by unit, and each unit's forward waits only for its weights",
          "[cluster][chunk_time]") {
  Cases cases(12);
  for (int i = 0; i < 500; ++i) {
    const Sample s = sample(cases);
    double network = 0, end = 0;
    for (const Unit& u : s.units) {
      network += u.gather;
      end = std::max(end, network) + u.forward;
    }
    const ChunkSeconds t = seconds(s, Zero::optimizer);
    REQUIRE(t.gathering.value == Approx(end - sum(s, &Unit::forward)).epsilon(1e-12).margin(1e-12));
    REQUIRE(t.forward.value == sum(s, &Unit::forward));
    REQUIRE(t.gather.value == sum(s, &Unit::gather));
    CHECK(seconds(s, Zero::none).gathering == Seconds());
  }
}

namespace {

/// ZeRO-3 forward: the embedding, the head and the first unit are gathered before they run; layers are gathered one
/// unit ahead.
double forward_of_shards(const Sample& s) {
  double end = 0;
  for (std::size_t k = 0; k < s.units.size(); ++k) {
    const Unit& u = s.units[k];
    const bool layer_follows = k + 1 < s.units.size() && !s.units[k + 1].outside;
    if (u.outside || k == 0) end += u.gather;
    end += beside(u.forward, layer_follows ? s.units[k + 1].gather : 0, s.times.hidden);
  }
  return end;
}
/// ZeRO-3 backward: a unit's `work` overlaps with the gather of the layer below and the reduction of the layer above.
/// Reductions of the embedding and the head are exposed.
double backward_of_shards(const Sample& s, double (*work)(const Unit&), bool gathers, bool reduces) {
  double end = s.units.back().outside || !gathers ? 0 : s.units.back().gather;
  for (std::size_t k = s.units.size(); k-- > 0;) {
    const Unit& u = s.units[k];
    const bool below = k > 0 && !s.units[k - 1].outside, above = k + 1 < s.units.size() && !s.units[k + 1].outside;
    const double communicated =
        (below && gathers ? s.units[k - 1].gather : 0) + (above && reduces ? s.units[k + 1].reduce : 0);
    end += beside(work(u), communicated, s.times.hidden);
    if (reduces && (u.outside || k == 0)) end += u.reduce;
  }
  return end;
}
double all_gradients(const Unit& u) { return u.backward; }
double of_inputs(const Unit& u) { return u.backward - u.weights; }
double of_weights(const Unit& u) { return u.weights; }

}  // namespace

TEST_CASE("ZeRO-3 gathers weights and reduces gradients during the neighboring layer in every micro-batch",
          "[cluster][chunk_time]") {
  Cases cases(13);
  for (int i = 0; i < 500; ++i) {
    const Sample s = sample(cases);
    for (const bool reshard : {true, false}) {
      const ChunkSeconds t = seconds(s, Zero::weights, 4, reshard);
      REQUIRE(t.forward.value == Approx(forward_of_shards(s)).epsilon(1e-12));
      REQUIRE((t.backward_input + t.backward_weight).value ==
              Approx(backward_of_shards(s, all_gradients, reshard, true)).epsilon(1e-12));
      REQUIRE(t.gathering == Seconds());
      REQUIRE(t.reducing == Seconds());
    }
  }
}

TEST_CASE("in split backward, ZeRO-3 gathers overlap input gradients; reductions overlap weight gradients",
          "[cluster][chunk_time]") {
  Cases cases(17);
  for (int i = 0; i < 500; ++i) {
    const Sample s = sample(cases);
    for (const bool reshard : {true, false}) {
      const Layout l{.pp = 2, .dp = 2, .zero = Zero::weights, .reshard = reshard, .schedule = Schedule::zb_h1};
      const ChunkSeconds t = chunk_seconds(s.prices, s.times, l, s.chunk, 4);
      REQUIRE(t.forward.value == Approx(forward_of_shards(s)).epsilon(1e-12));
      REQUIRE(t.backward_input.value == Approx(backward_of_shards(s, of_inputs, reshard, false)).epsilon(1e-12));
      REQUIRE(t.backward_weight.value == Approx(backward_of_shards(s, of_weights, false, true)).epsilon(1e-12));
    }
  }
}

TEST_CASE("ZeRO-2 with one micro-batch takes as long as ZeRO-1", "[cluster][chunk_time]") {
  Cases cases(14);
  for (int i = 0; i < 500; ++i) {
    const Sample s = sample(cases);
    const ChunkSeconds one = seconds(s, Zero::optimizer), two = seconds(s, Zero::gradients);
    REQUIRE(two.backward_input == one.backward_input);
    REQUIRE(two.waiting == Seconds());
    REQUIRE(two.reducing == one.reducing);
  }
}

TEST_CASE("ZeRO-2 overlaps every gradient reduction except the last with the next micro-batch",
          "[cluster][chunk_time]") {
  Cases cases(15);
  for (int i = 0; i < 500; ++i) {
    const Sample s = sample(cases);
    const Count m = 2 + cases.below(9);
    const double work = sum(s, &Unit::forward) + sum(s, &Unit::backward);
    const double longer = beside(work, sum(s, &Unit::reduce), s.times.hidden) - work;
    REQUIRE(static_cast<double>(m) * seconds(s, Zero::gradients, m).waiting.value ==
            Approx(static_cast<double>(m - 1) * longer).epsilon(1e-12).margin(1e-12));
  }
}

TEST_CASE("in a pipeline, ZeRO-2 reduces gradients once per step, as ZeRO-1 does", "[cluster][chunk_time]") {
  // PyTorch's stages and Megatron-LM's distributed optimizer synchronize gradients after a chunk's last backward.
  Cases cases(18);
  for (int i = 0; i < 500; ++i) {
    const Sample s = sample(cases);
    const Count m = 2 + cases.below(9);
    for (const Schedule schedule : pipeline_tests::all_schedules) {
      const auto of = [&](Zero zero) {
        return chunk_seconds(s.prices, s.times, {.pp = 2, .dp = 2, .zero = zero, .schedule = schedule}, s.chunk, m);
      };
      const ChunkSeconds one = of(Zero::optimizer), two = of(Zero::gradients);
      REQUIRE(two.waiting == Seconds());
      REQUIRE(two.forward == one.forward);
      REQUIRE(two.backward_input == one.backward_input);
      REQUIRE(two.backward_weight == one.backward_weight);
      REQUIRE(two.reducing == one.reducing);
      REQUIRE(two.reduction == one.reduction);
    }
  }
}

TEST_CASE("gradients of unsharded experts are reduced across tensor-parallel ranks even without replicas",
          "[cluster][chunk_time]") {
  const Layout l{.tp = 4, .sp = true, .etp = 1};  // 4 ranks hold the same experts
  Plan p;
  p.seq = 64;
  p.global_batch = 1;
  p.overlap = 0;
  const Cluster c = device(1e12, 1e11, 1e9);
  const Prices prices = price(even_moe(), p, l, c.device);
  // 3 layers of 8 experts with 3 matrices of 64 x 32, float32, all-reduced over 4 ranks: 2 (3/4) bytes / 1e9
  const double bytes = 2 * 0.75 * 4 * 3 * 8 * 3 * 64 * 32;
  CHECK(llmcalc::train(even_moe(), p, l, c).bound[Part::dp].value == Approx(bytes / 1e9).epsilon(1e-12));
  CHECK(prices.layer(0).experts.total == 8 * 3 * 64 * 32);
}
