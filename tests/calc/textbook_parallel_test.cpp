#include "calc/textbook/parallel.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "calc/links/collective.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

namespace {

/// Simulates a pipeline in whole time units, and records the idle time and the peak number of stored micro-batches per
/// rank. Each rank runs its list of forwards (true) and backwards (false) in order, as soon as their inputs are ready.
struct Simulation {
  Count ranks, micro_batches, forward, backward;
  std::vector<std::vector<bool>> lists;
  Count makespan = 0;
  std::vector<Count> peak;

  void run() {
    const auto p = static_cast<std::size_t>(ranks), m = static_cast<std::size_t>(micro_batches);
    std::vector<std::vector<Count>> f(p, std::vector<Count>(m, -1)), b = f;
    std::vector<std::size_t> next(p, 0), fs(p, 0), bs(p, 0);
    std::vector<Count> free(p, 0);
    peak.assign(p, 0);
    for (std::size_t done = 0; done < 2 * p * m;)
      for (std::size_t r = 0; r < p; ++r) {
        if (next[r] == lists[r].size()) continue;
        const bool is_forward = lists[r][next[r]];
        const std::size_t i = is_forward ? fs[r] : bs[r];
        const Count ready = is_forward ? (r == 0 ? 0 : f[r - 1][i]) : (r + 1 == p ? f[r][i] : b[r + 1][i]);
        if (ready < 0) continue;
        free[r] = std::max(free[r], ready) + (is_forward ? forward : backward);
        (is_forward ? f : b)[r][i] = free[r];
        ++(is_forward ? fs : bs)[r];
        ++next[r];
        ++done;
        peak[r] = std::max(peak[r], static_cast<Count>(fs[r] - bs[r] + (is_forward ? 0 : 1)));
        makespan = std::max(makespan, free[r]);
      }
  }
  Count idle() const { return makespan - micro_batches * (forward + backward); }
};

/// GPipe: all forwards, then all backwards. 1F1B: rank r runs P - r - 1 forwards ahead.
Simulation simulated(Count ranks, Count micro_batches, bool one_f_one_b) {
  Simulation s{ranks, micro_batches, 3, 7, {}, 0, {}};
  for (Count r = 0; r < ranks; ++r) {
    const Count ahead = one_f_one_b ? std::min(ranks - r - 1, micro_batches) : micro_batches;
    std::vector<bool> list(static_cast<std::size_t>(ahead), true);
    for (Count i = 0; i < micro_batches - ahead; ++i) {
      list.push_back(true);
      list.push_back(false);
    }
    list.insert(list.end(), static_cast<std::size_t>(ahead), false);
    s.lists.push_back(list);
  }
  s.run();
  return s;
}

}  // namespace

TEST_CASE("the idle time and stored micro-batches of a simulated pipeline match the closed forms", "[textbook]") {
  const auto [ranks, micro_batches] = GENERATE(std::pair<Count, Count>{4, 8}, std::pair<Count, Count>{3, 3},
                                               std::pair<Count, Count>{5, 2}, std::pair<Count, Count>{1, 4});
  const auto schedule = GENERATE(Schedule::gpipe, Schedule::one_f_one_b);
  const Simulation s = simulated(ranks, micro_batches, schedule == Schedule::one_f_one_b);
  CHECK(static_cast<double>(s.idle()) == bubble_seconds(schedule, ranks, {.forward = 3, .backward = 7}));
  for (Count r = 0; r < ranks; ++r)
    CHECK(Fraction(s.peak[static_cast<std::size_t>(r)]) == in_flight(schedule, ranks, micro_batches, r));
}

TEST_CASE("the two bubble ratios differ only in their denominator", "[textbook]") {
  CHECK(bubble_ratio(4, 8) == Fraction(Exact(3), 8));
  CHECK(bubble_ratio(4, 8, 1, true) == Fraction(Exact(3), 11));
  CHECK(bubble_ratio(4, 8, 2) == Fraction(Exact(3), 16));
  CHECK(bubble_ratio(1, 8) == Fraction(0));
}

TEST_CASE("zero-bubble schedules fill the idle time with weight gradients", "[textbook]") {
  const StageTimes t{.forward = 1, .backward = 2, .weight_part = 1, .overlapped = 2.5};
  CHECK(bubble_seconds(Schedule::one_f_one_b, 8, t) == 21);
  CHECK(bubble_seconds(Schedule::interleaved, 8, t, 7) == 3);
  CHECK(bubble_seconds(Schedule::zb_h1, 8, t) == 7);
  CHECK(bubble_seconds(Schedule::zb_h2, 8, t) == 0);
  CHECK(bubble_seconds(Schedule::dualpipe, 8, t) == Approx(3 * 1.5));
}

TEST_CASE("interleaving keeps more micro-batches in flight on the first rank, up to all of them", "[textbook]") {
  CHECK(in_flight(Schedule::interleaved, 8, 64, 0, 3) == Fraction(8) * interleave_factor(8, 3));
  CHECK(in_flight(Schedule::interleaved, 8, 8, 0, 4) == Fraction(8));
  CHECK(in_flight(Schedule::interleaved, 4, 100, 3, 1) == Fraction(1));
  CHECK(in_flight(Schedule::zb_h2, 4, 100, 0) == Fraction(7));
  CHECK(in_flight(Schedule::dualpipe, 4, 100, 0) == Fraction(5));
}

TEST_CASE("tensor parallelism sends the volume of four ring all-reduces per layer", "[textbook]") {
  const TensorParallelLayer l{.batch = 2, .seq = 3, .hidden = 5, .precision = 2, .ranks = 4};
  const ByteFraction one = collective_volume(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, Bytes(60), 4);
  CHECK(tensor_parallel_train(l) == Fraction(4) * Fraction(one.numerator.value, one.denominator));
  CHECK(tensor_parallel_forward(l) == Fraction(2) * Fraction(one.numerator.value, one.denominator));
  CHECK(tensor_parallel_train(l, true) == Fraction(3) * tensor_parallel_forward(l));
}

TEST_CASE("a parallel block sends half as many bytes, and sequence parallelism gathers two more inputs", "[textbook]") {
  TensorParallelLayer l{.batch = 2, .seq = 3, .hidden = 5, .precision = 2, .ranks = 4};
  const Fraction serial = tensor_parallel_train(l);
  l.parallel_block = true;
  CHECK(Fraction(2) * tensor_parallel_train(l) == serial);
  l.parallel_block = false;
  l.sequence_parallel = true;
  CHECK(tensor_parallel_train(l) == serial + Fraction(2 * 60 * 3 / 4));
}

TEST_CASE("context parallelism sends keys and values, or heads under Ulysses", "[textbook]") {
  const ContextParallelLayer l{
      .batch = 1, .seq = 16, .heads = 8, .kv_heads = 2, .head_dim = 4, .precision = 2, .ranks = 4};
  const Count kv = 2 * 16 * 2 * 4 * 2;
  CHECK(context_parallel_forward(l, ContextMethod::ring) == Fraction(kv * 3 / 4));
  CHECK(context_parallel_train(l, ContextMethod::ring) == Fraction(2 * kv * 3 / 4 + kv));
  CHECK(context_parallel_train(l, ContextMethod::all_gather) == Fraction(3 * kv * 3 / 4));
  CHECK(context_parallel_forward(l, ContextMethod::ulysses) == Fraction(2 * 10 * 4 * (16 / 4) * 2 * 3 / 4));
  ContextParallelLayer alone = l;
  alone.ranks = 1;
  CHECK(context_parallel_train(alone, ContextMethod::ring) == Fraction(0));
}

TEST_CASE("expert parallelism sends only rows for experts on other ranks", "[textbook]") {
  CHECK(expert_parallel_forward(10, 8, 2, 4, 1, 2) == Fraction(10 * 2 * 8 * 3 * 3 / 4));
  CHECK(expert_parallel_forward(10, 8, 2, 1, 1, 2) == Fraction(0));
}

TEST_CASE("ZeRO-1 sends as much as plain data parallelism, and ZeRO-3 sends 50 % more", "[textbook]") {
  const auto sent = [](int stage, Count micro_batches) {
    return data_parallel_step(1000, 8, stage, 2, 2, micro_batches);
  };
  CHECK(sent(0, 1) == Fraction(2 * 1000 * 2 * 7 / 8));
  CHECK(sent(1, 1) == sent(0, 1));
  CHECK(sent(2, 1) == sent(0, 1));
  CHECK(Fraction(2) * sent(3, 1) == Fraction(3) * sent(0, 1));
  CHECK(sent(1, 5) == sent(1, 1));
  CHECK(sent(2, 5) == Fraction(3) * sent(0, 1));
}

TEST_CASE("a middle pipeline stage sends in both directions, and an end stage in one", "[textbook]") {
  CHECK(pipeline_step(1, 3, 5, 2, 4, 1, false) == Fraction(2 * 4 * 30));
  CHECK(pipeline_step(1, 3, 5, 2, 4, 1, true) == Fraction(4 * 30));
  CHECK(pipeline_step(1, 3, 5, 2, 4, 3, true, 5) == Fraction(5 * 4 * 30 / 5));
}

TEST_CASE("step time is the sum of micro-batches, pipeline fill, exposed communication and optimizer", "[textbook]") {
  const StepTerms t{.compute = 2,
                    .communication = 1,
                    .overlap = 0.5,
                    .data_parallel = 4,
                    .data_parallel_overlap = 0.75,
                    .optimizer = 0.5};
  CHECK(step_seconds(t, 8, 1) == Approx(8 * 2.5 + 1 + 0.5));
  CHECK(step_seconds(t, 8, 5, 2) == Approx(10 * 2.5 + 1 + 0.5));
}
