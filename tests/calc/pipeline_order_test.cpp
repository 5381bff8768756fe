#include <map>
#include <string>

#include "calc/pipeline/order.hpp"
#include "tests/calc/pipeline_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::pipeline_tests;

namespace {

/// A rank's order in letters: F, B (both gradients), I (of inputs), W (of weights) with the micro-batch's number
/// counted from 1, an apostrophe for the second local chunk, and "F3+B1'" for a pair.
std::string letters(const Pipeline& p, Count rank) {
  std::string text;
  const auto add = [&](char kind, Count chunk, Count i) {
    text += kind + std::to_string(i + 1) + (chunk > 0 ? "'" : "");
  };
  for_each_slot(p, rank, [&](const Slot& s) {
    if (!text.empty()) text += ' ';
    add("FBIWF"[static_cast<int>(s.kind)], s.chunk, s.micro_batch);
    if (s.kind != SlotKind::forward_and_backward) return;
    text += '+';
    add('B', s.backward_chunk, s.backward_micro_batch);
  });
  return text;
}

}  // namespace

TEST_CASE("GPipe runs all forwards, then all backwards") {
  CHECK(letters({Schedule::gpipe, 2, 1, 3}, 0) == "F1 F2 F3 B1 B2 B3");
  CHECK(letters({Schedule::gpipe, 2, 1, 3}, 1) == "F1 F2 F3 B1 B2 B3");
}

TEST_CASE("1F1B runs P - r - 1 forwards ahead, then alternates forward and backward, then drains") {
  const Pipeline p{Schedule::one_f_one_b, 4, 1, 6};
  CHECK(letters(p, 0) == "F1 F2 F3 F4 B1 F5 B2 F6 B3 B4 B5 B6");
  CHECK(letters(p, 1) == "F1 F2 F3 B1 F4 B2 F5 B3 F6 B4 B5 B6");
  CHECK(letters(p, 3) == "F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6");
  CHECK(letters({Schedule::one_f_one_b, 4, 1, 2}, 0) == "F1 F2 B1 B2");
  CHECK(letters({Schedule::one_f_one_b, 1, 1, 2}, 0) == "F1 B1 F2 B2");
}

// Megatron-LM, 2 ranks of 2 chunks, 4 micro-batches: 2 (P - r - 1) + (v - 1) P slots ahead, groups of P micro-batches.
TEST_CASE("an interleaved pipeline runs each chunk for P micro-batches, and backward in reverse chunk order") {
  const Pipeline p{Schedule::interleaved, 2, 2, 4};
  CHECK(letters(p, 0) == "F1 F2 F1' F2' F3 B1' F4 B2' F3' B1 F4' B2 B3' B4' B3 B4");
  CHECK(letters(p, 1) == "F1 F2 F1' B1' F2' B2' F3 B1 F4 B2 F3' B3' F4' B4' B3 B4");
  CHECK(letters({Schedule::interleaved, 2, 2, 2}, 0) == "F1 F2 F1' F2' B1' B2' B1 B2");
}

// arXiv:2401.10241, figures 2 and 3: 4 ranks; the last rank's weight gradients begin P - 1, or 2 (P - 1), rounds late.
TEST_CASE("ZB-H1 and ZB-H2 delay weight gradients more on later ranks") {
  const Pipeline h1{Schedule::zb_h1, 3, 1, 4}, h2{Schedule::zb_h2, 2, 1, 4};
  CHECK(letters(h1, 0) == "F1 F2 F3 I1 W1 F4 I2 W2 I3 W3 I4 W4");
  CHECK(letters(h1, 1) == "F1 F2 I1 F3 I2 W1 F4 I3 W2 I4 W3 W4");
  CHECK(letters(h1, 2) == "F1 I1 F2 I2 F3 I3 W1 F4 I4 W2 W3 W4");
  CHECK(letters(h2, 0) == "F1 F2 F3 I1 W1 F4 I2 W2 I3 W3 I4 W4");
  CHECK(letters(h2, 1) == "F1 I1 F2 I2 F3 I3 W1 F4 I4 W2 W3 W4");
}

// The eight steps of github.com/deepseek-ai/DualPipe by hand for 2 ranks, which skip steps 1, 3, 5 and 7.
TEST_CASE("DualPipe feeds both ends, and pairs a forward of one direction with a backward of the other") {
  const Pipeline p{Schedule::dualpipe, 2, 2, 6};
  CHECK(letters(p, 0) == "F1 F4' F2 B4' F5'+B1 F3+B5' F6'+B2 B6' I3 W3");
  CHECK(letters(p, 1) == "F4' F1 F5' B1 F2+B4' F6'+B2 F3+B5' B3 I6' W6'");
}

// 2 ranks, 4 micro-batches: rank 0 runs step 1 twice and each of steps 2 to 8 once.
TEST_CASE("DualPipe-V runs DualPipe's order on chunks that are placed in a V") {
  const Pipeline p{Schedule::dualpipe_v, 2, 2, 4};
  CHECK(letters(p, 0) == "F1 F2 F3 F1' I1' W1' F2' F4+B2' F3'+B1 B3' F4'+B2 B4' I3 W3 I4 W4");
  CHECK(letters(p, 1) == "F1 F1' F2 F2' F3 B1' F3'+B1 F4+B2' F4'+B2 B3' B3 I4' I4 W4' W4");
}

TEST_CASE("every rank runs the forward, input and weight gradients of each chunk and micro-batch once") {
  std::mt19937 random(11);
  for (int i = 0; i < 700; ++i) {
    const Pipeline p = random_pipeline(written_schedules[static_cast<std::size_t>(i) % 7], random);
    for (Count rank = 0; rank < p.ranks; ++rank) {
      std::map<std::array<Count, 3>, int> done;  // chunk, micro-batch, and 0 forward, 1 inputs, 2 weights
      bool in_order = true;
      for_each_slot(p, rank, [&](const Slot& s) {
        const Count c = gradient_chunk(s), j = gradient_micro_batch(s);
        if (runs_forward(s.kind)) ++done[{s.chunk, s.micro_batch, 0}];
        if (runs_backward(s.kind)) in_order &= done[{c, j, 0}] == 1 && ++done[{c, j, 1}] == 1;
        if (runs_weights(s.kind)) in_order &= done[{c, j, 1}] == 1 && ++done[{c, j, 2}] == 1;
      });
      REQUIRE(in_order);
      REQUIRE(static_cast<Count>(done.size()) == 3 * p.chunks * p.micro_batches / directions(p));
      for (const auto& [what, times] : done) REQUIRE(times == 1);
    }
  }
}

TEST_CASE("the steady state of a schedule has the same repeated runs on every rank") {
  std::mt19937 random(12);
  for (int i = 0; i < 700; ++i) {
    const Pipeline p = random_pipeline(written_schedules[static_cast<std::size_t>(i) % 7], random);
    std::vector<std::array<Count, 3>> first;
    for (Count rank = 0; rank < p.ranks; ++rank) {
      std::vector<std::array<Count, 3>> steady;
      for (const OrderRun& run : rank_order(p, rank))
        if (run.rounds > 0) steady.push_back({run.rounds, run.times, run.size});
      if (rank == 0) first = steady;
      REQUIRE(steady == first);
      if (p.schedule != Schedule::gpipe && p.micro_batches > 6 * p.ranks) REQUIRE(!steady.empty());
    }
  }
}
