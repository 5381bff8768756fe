#pragma once
/// Pipelines and times for the tests of calc/pipeline: all schedules, small sizes, fixed seeds.

#include <array>
#include <random>
#include <vector>

#include "calc/pipeline/times.hpp"

namespace llmcalc::pipeline_tests {

inline constexpr std::array all_schedules{
    Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zb_h1,    Schedule::zb_h2,
    Schedule::zb_1p, Schedule::zb_2p,       Schedule::zb_v,        Schedule::dualpipe, Schedule::dualpipe_v};
inline constexpr std::array written_schedules{Schedule::gpipe,     Schedule::one_f_one_b, Schedule::interleaved,
                                              Schedule::zb_h1,     Schedule::zb_h2,       Schedule::dualpipe,
                                              Schedule::dualpipe_v};

/// A valid pipeline of the given schedule with sizes close to the given ones.
inline Pipeline sound(Schedule s, Count ranks, Count chunks, Count micro_batches) {
  Pipeline p{s, ranks, fixed_chunks(s) > 0 ? fixed_chunks(s) : chunks, micro_batches};
  if (flaw(p) == PipelineFlaw::odd_ranks) p.ranks = enough(p);
  while (flaw(p) != PipelineFlaw::none) p.micro_batches = enough(p);
  return p;
}

struct Times {
  std::vector<ChunkTime> chunks;
  std::vector<Seconds> sends, ready;
  PipelineTimes view() const { return {chunks, sends, ready}; }
};

/// Equal times for all chunks, and instant sends.
inline Times equal_times(const Pipeline& p, double forward, double input, double weight, double paired = 0) {
  const auto n = static_cast<std::size_t>(model_chunks(p));
  return {std::vector<ChunkTime>(n, {Seconds(forward), Seconds(input), Seconds(weight), Seconds(paired)}), {}, {}};
}

/// Whole or fractional random times, with or without sends, paired slots and chunks that become ready late.
inline Times random_times(const Pipeline& p, std::mt19937& random) {
  const auto style = random() % 6;
  const auto some = [&] {
    return Seconds(style < 3 ? 1 + static_cast<double>(random() % 4) : static_cast<double>(random() % 1000) / 700);
  };
  Times t;
  for (Count i = 0; i < model_chunks(p); ++i) {
    t.chunks.push_back({some(), some(), some(), style % 3 == 2 ? some() : Seconds()});
    if (style % 3 > 0) t.sends.push_back(some());
    if (style % 3 == 1) t.ready.push_back(some() + some());
  }
  return t;
}

inline Pipeline random_pipeline(Schedule s, std::mt19937& random, Count ranks = 9, Count micro_batches = 60) {
  const auto below = [&](Count n) { return static_cast<Count>(random() % static_cast<unsigned>(n)); };
  return sound(s, 1 + below(ranks), 2 + below(3), 1 + below(micro_batches));
}

}  // namespace llmcalc::pipeline_tests
