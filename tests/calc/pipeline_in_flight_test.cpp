#include "calc/pipeline/in_flight.hpp"

#include <algorithm>

#include "calc/pipeline/makespan.hpp"
#include "calc/textbook/parallel.hpp"
#include "tests/calc/pipeline_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::pipeline_tests;

namespace {

std::vector<ChunkSaved> equal_saved(const Pipeline& p, Count activations, Count for_weights) {
  return std::vector<ChunkSaved>(static_cast<std::size_t>(p.chunks), {Bytes(activations), Bytes(for_weights)});
}

Count most(const Pipeline& p, Count rank, Count activations, Count for_weights) {
  std::vector<SavedCount> counts(static_cast<std::size_t>(2 * p.chunks));
  return most_saved(p, rank, equal_saved(p, activations, for_weights), counts).value;
}

}  // namespace

TEST_CASE("GPipe, 1F1B and interleaved keep the textbook's number of micro-batches in flight on every rank") {
  for (const Count ranks : {1, 2, 5, 8})
    for (const Count m : {1, 3, 8, 200})
      for (Count r = 0; r < ranks; ++r) {
        using textbook::in_flight;
        const Pipeline g{Schedule::gpipe, ranks, 1, m}, f{Schedule::one_f_one_b, ranks, 1, m};
        CHECK(textbook::Fraction(most(g, r, 1, 0)) == in_flight(textbook::Schedule::gpipe, ranks, m, r));
        CHECK(textbook::Fraction(most(f, r, 1, 0)) == in_flight(textbook::Schedule::one_f_one_b, ranks, m, r));
        for (const Count v : {2, 3}) {
          const Pipeline i{Schedule::interleaved, ranks, v, m * ranks};
          CHECK(textbook::Fraction(most(i, r, 1, 0), v) ==
                in_flight(textbook::Schedule::interleaved, ranks, m * ranks, r, v));
        }
      }
}

// arXiv:2401.10241 counts a micro-batch until its weight gradients are done; DualPipe's README counts P + 1 stages.
TEST_CASE("ranks hold P micro-batches in ZB-H1, 2P - 1 in ZB-H2, and stages + 1 in DualPipe and DualPipe-V") {
  for (const Count ranks : {2, 4, 8})
    for (const Count m : {4 * ranks, 50 * ranks})
      for (Count r = 0; r < ranks; ++r) {
        CHECK(most({Schedule::zb_h1, ranks, 1, m}, r, 1, 1) == ranks);
        CHECK(most({Schedule::zb_h2, ranks, 1, m}, r, 1, 1) == 2 * ranks - 1);
        CHECK(most({Schedule::dualpipe, ranks, 2, m}, r, 1, 1) == ranks + 1);
        CHECK(most({Schedule::dualpipe_v, ranks, 2, m}, r, 1, 1) == 2 * ranks + 1);
        CHECK(most({Schedule::zb_h1, ranks, 1, m}, r, 1, 0) == ranks - r);
      }
}

TEST_CASE("tensors saved only for weight gradients count until those gradients are computed") {
  const Pipeline p{Schedule::zb_h1, 4, 1, 20};
  // The last rank runs weight gradients three rounds late: during a forward it keeps one whole micro-batch and the
  // remainders of three others.
  std::vector<SavedCount> counts(2);
  CHECK(most_saved(p, 3, equal_saved(p, 100, 7), counts) == Bytes(100 + 3 * 7));
  CHECK(counts[0] == SavedCount{1, 3});
}

TEST_CASE("peak bytes in flight depend on the saved bytes of each chunk") {
  const Pipeline p{Schedule::interleaved, 2, 2, 4};  // rank 0: F1 F2 F1' F2' F3 B1' F4 B2' F3' B1 ...
  std::vector<SavedCount> counts(4);
  std::vector<ChunkSaved> saved = equal_saved(p, 1, 0);
  saved[0] = {Bytes(10), Bytes()};
  CHECK(most_saved(p, 0, saved, counts) == Bytes(4 * 10 + 1));  // after F4: B1' is done, F2' is not
  CHECK(counts[0].activations == 4);
  CHECK(counts[1].activations == 1);
  saved = equal_saved(p, 1, 0);
  saved[1] = {Bytes(10), Bytes()};
  CHECK(most_saved(p, 0, saved, counts) == Bytes(3 + 2 * 10));  // after F3
  CHECK(counts[1].activations == 2);
}

TEST_CASE("a chunk with a large workspace sets the peak while it runs") {
  const Pipeline p{Schedule::interleaved, 2, 2, 4};  // rank 1 ends with the model's last chunk
  std::vector<SavedCount> counts(4);
  std::vector<ChunkSaved> saved = equal_saved(p, 10, 0);
  const Bytes without = most_saved(p, 1, saved, counts);
  saved[1].rest = Bytes(1000);
  CHECK(most_saved(p, 1, saved, counts) >= Bytes(1000 + 10));
  CHECK(most_saved(p, 1, saved, counts) <= without + Bytes(1000));
  CHECK(counts[1].activations > 0);
}

TEST_CASE("in-flight counts computed from repeated runs match a walk over every slot") {
  std::mt19937 random(41);
  for (int i = 0; i < 700; ++i) {
    const Pipeline p = random_pipeline(written_schedules[static_cast<std::size_t>(i) % 7], random, 8, 100);
    std::vector<ChunkSaved> saved;
    for (Count c = 0; c < p.chunks; ++c)
      saved.push_back({Bytes(static_cast<Count>(random() % 50)), Bytes(static_cast<Count>(random() % 50)),
                       Bytes(static_cast<Count>(random() % 200))});
    const auto size = static_cast<std::size_t>(p.chunks);
    std::vector<SavedCount> counts(2 * size), walked(2 * size);
    for (Count r = 0; r < p.ranks; ++r) {
      std::vector<Slot> slots;
      for_each_slot(p, r, [&](const Slot& s) { slots.push_back(s); });
      REQUIRE(most_saved(p, r, saved, counts) == most_saved(p, slots, saved, walked));
      Bytes sum, rest;
      for (std::size_t c = 0; c < size; ++c) {
        const ChunkSaved& k = saved[c];
        sum += counts[c].activations * k.activations + counts[c].for_weights * k.for_weights;
        if (counts[c].activations > 0) rest = std::max(rest, k.rest);
      }
      REQUIRE(sum + rest == most_saved(p, r, saved, counts));
    }
  }
}

// Limits (arXiv:2401.10241, 2405.15362): P micro-batches for ZB-1P, 2P for ZB-2P, and 2P half-stages for ZB-V, each
// held until its weight gradient is done.
TEST_CASE("automatic schedules stay within their in-flight limit, and reach it for equal times") {
  std::mt19937 random(42);
  MakespanWorkspace room;
  std::vector<SavedCount> counts(4);
  for (int i = 0; i < 600; ++i) {
    const Schedule s = std::array{Schedule::zb_1p, Schedule::zb_2p, Schedule::zb_v}[static_cast<std::size_t>(i) % 3];
    const Pipeline p = random_pipeline(s, random, 8, 100);
    const bool equal = i < 60;
    const Times t = equal ? equal_times(p, 1, 1, 1) : random_times(p, random);
    makespan(p, t.view(), room);
    Count worst = 0;
    for (Count r = 0; r < p.ranks; ++r)
      worst = std::max(worst, most_saved(p, room.slots(r), equal_saved(p, 1, 1), counts).value);
    const Count limit = s == Schedule::zb_1p ? p.ranks : 2 * p.ranks;
    REQUIRE(worst <= limit);
    if (equal && p.micro_batches >= 2 * p.ranks) REQUIRE(worst >= (s == Schedule::zb_2p ? limit - 1 : limit));
  }
}

TEST_CASE("skipping rounds of an automatic schedule does not change the bytes in flight") {
  std::mt19937 random(43);
  MakespanWorkspace some, all;
  std::vector<SavedCount> counts(4), expected(4);
  for (int i = 0; i < 150; ++i) {
    const Schedule s = std::array{Schedule::zb_1p, Schedule::zb_2p, Schedule::zb_v}[static_cast<std::size_t>(i) % 3];
    const Pipeline p = random_pipeline(s, random, 6, 300);
    const Times t = random_times(p, random);
    std::vector<ChunkSaved> saved;
    for (Count c = 0; c < model_chunks(p); ++c)
      saved.push_back({Bytes(static_cast<Count>(random() % 50)), Bytes(static_cast<Count>(random() % 50))});
    makespan(p, t.view(), some);
    whole_makespan(p, t.view(), all);
    for (Count r = 0; r < p.ranks; ++r) {
      REQUIRE(most_saved(p, some.slots(r), saved, counts) == most_saved(p, all.slots(r), saved, expected));
      REQUIRE(static_cast<Count>(all.slots(r).size()) == 3 * p.chunks * p.micro_batches);
    }
  }
}
