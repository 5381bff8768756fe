#include "calc/pipeline/schedule.hpp"

#include "tests/calc/pipeline_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::pipeline_tests;

TEST_CASE("every schedule has its command-line name") {
  CHECK(choice_names<Schedule> == "gpipe|1f1b|interleaved|zb-h1|zb-h2|zb-1p|zb-2p|zb-v|dualpipe|dualpipe-v");
  for (const Schedule s : all_schedules) CHECK(parse<Schedule>(name(s)) == s);
}

TEST_CASE("interleaving gives a rank every P-th chunk, V schedules fold back, DualPipe holds two models") {
  CHECK(model_chunk({Schedule::interleaved, 4, 3, 4}, 1, 2) == 9);
  CHECK(model_chunk({Schedule::zb_v, 4, 2, 4}, 1, 0) == 1);
  CHECK(model_chunk({Schedule::zb_v, 4, 2, 4}, 1, 1) == 6);
  CHECK(model_chunks({Schedule::dualpipe_v, 4, 2, 8}) == 8);
  CHECK(model_chunk({Schedule::dualpipe, 4, 2, 8}, 1, 1) == 2);
  CHECK(model_chunks({Schedule::dualpipe, 4, 2, 8}) == 4);
  CHECK(rank_of({Schedule::dualpipe, 4, 2, 8}, 0, 1) == 3);
}

TEST_CASE("mapping a model chunk to its rank and back returns the same chunk") {
  for (const Schedule s : all_schedules) {
    const Pipeline p = sound(s, 6, 3, 24);
    for (Count d = 0; d < directions(p); ++d)
      for (Count chunk = 0; chunk < model_chunks(p); ++chunk) {
        const ChunkPlace at = chunk_place(p, chunk, d);
        CHECK(model_chunk(p, at.rank, at.local) == chunk);
        if (directions(p) == 2) CHECK(at.local == d);
      }
  }
}

TEST_CASE("an invalid pipeline reports its flaw and a valid value for the rejected number") {
  const auto why = [](Schedule s, Count ranks, Count chunks, Count micro_batches, PipelineFlaw expected, Count mends) {
    const Pipeline p{s, ranks, chunks, micro_batches};
    CHECK(flaw(p) == expected);
    CHECK(enough(p) == mends);
  };
  why(Schedule::one_f_one_b, 0, 1, 8, PipelineFlaw::ranks, 1);
  why(Schedule::one_f_one_b, 4, 1, 0, PipelineFlaw::micro_batches, 1);
  why(Schedule::one_f_one_b, 4, 2, 8, PipelineFlaw::chunks, 1);
  why(Schedule::interleaved, 4, 1, 8, PipelineFlaw::chunks, 2);
  why(Schedule::interleaved, 4, 2, 9, PipelineFlaw::groups, 12);
  why(Schedule::zb_v, 4, 1, 8, PipelineFlaw::chunks, 2);
  why(Schedule::dualpipe, 3, 2, 8, PipelineFlaw::odd_ranks, 4);
  why(Schedule::dualpipe, 4, 2, 6, PipelineFlaw::micro_batches, 8);
  why(Schedule::dualpipe, 4, 2, 9, PipelineFlaw::odd_micro_batches, 10);
  why(Schedule::dualpipe_v, 4, 2, 7, PipelineFlaw::micro_batches, 8);
  why(Schedule::dualpipe_v, 4, 2, 9, PipelineFlaw::none, 9);
  why(Schedule::zb_h2, 8, 1, 1, PipelineFlaw::none, 1);
}
