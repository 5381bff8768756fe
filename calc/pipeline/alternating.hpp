#pragma once
/// Simulation of 1F1B and interleaved pipelines, for which alternates() holds. One simulation computes several sets of
/// times at once, called lanes.

#include <array>
#include <span>
#include <vector>

#include "calc/pipeline/times.hpp"

namespace llmcalc {

/// One number per lane.
template <std::size_t n>
struct Lanes {
  std::array<double, n> at{};
  constexpr Lanes& operator+=(const Lanes& o) {
    for (std::size_t i = 0; i < n; ++i) at[i] += o.at[i];
    return *this;
  }
  friend constexpr Lanes operator+(Lanes a, const Lanes& b) { return a += b; }
  friend constexpr Lanes operator-(Lanes a, const Lanes& b) {
    for (std::size_t i = 0; i < n; ++i) a.at[i] -= b.at[i];
    return a;
  }
  friend constexpr Lanes later(Lanes a, const Lanes& b) {
    for (std::size_t i = 0; i < n; ++i) a.at[i] = a.at[i] > b.at[i] ? a.at[i] : b.at[i];
    return a;
  }
};

/// State of the ranks and chunks. It grows as needed and is reused.
template <std::size_t n>
struct AlternatingWorkspace {
  /// A chunk on its rank, with the seconds of the sends that deliver its inputs.
  struct Chunk {
    Lanes<n> forward, backward, from_before, from_after, ready, first;
    bool has_before = false, has_after = false, started = false;
  };
  /// The slots of a rank in one direction, numbered in order, and the end times of the most recent ones.
  struct Flow {
    const Flow* from = nullptr;  ///< flow whose results it reads
    Count lag = 0;               ///< slot k reads slot k - lag of `from`
    Count done = 0;
    Lanes<n>* ends = nullptr;
    Chunk* chunk = nullptr;  ///< chunk of the next slot
    Count left = 0;          ///< number of slots until the next chunk's turn
  };
  struct Rank {
    Flow forward, backward;
    Count ahead = 0;  ///< number of forwards before the first backward
    Count to_do = 0;  ///< number of slots until its stop
    Chunk* chunks = nullptr;
    Lanes<n> clock, marked_clock;
  };
  std::vector<Rank> ranks;
  std::vector<Chunk> chunks;
  std::vector<Lanes<n>> ends, unused;
};

/// Runs a pipeline for which alternates() holds.
///
/// Steady runs are not always simulated to their end. A cut is the state after the same number of rounds on every rank:
/// the clock of each rank and the ends of slots whose results have not been used. All later times depend only on this
/// state, and on its times only through maxima and sums. So if a cut equals an earlier one except that all times are
/// later by the same L, the same holds for all following cuts at this distance, and as many whole distances as remain
/// can be skipped, each adding L. A state that is off by at most d adds an error of at most d per skipped distance
/// (maxima and sums propagate errors but do not amplify them), so d <= 1e-13 L keeps the total exact to 1e-13. Rounds
/// are skipped only when every lane repeats.
template <std::size_t n>
class AlternatingRun {
 public:
  AlternatingRun(const Pipeline& p, std::span<const PipelineTimes, n> t, AlternatingWorkspace<n>& room);
  void run();
  /// Start of a chunk's first forward and end of its last backward.
  Lanes<n> first(Count rank, Count local) const { return chunk(rank, local).first; }
  Lanes<n> last(Count rank, Count local) const;

 private:
  using Rank = typename AlternatingWorkspace<n>::Rank;
  using Flow = typename AlternatingWorkspace<n>::Flow;
  using Chunk = typename AlternatingWorkspace<n>::Chunk;
  void prepare_rank(Count number);
  void prepare_chunk(Count rank, Count local, std::span<const PipelineTimes, n> t);
  bool forward(Rank& rank) const;
  bool backward(Rank& rank) const;
  bool pass(Rank& rank) const;
  void run_to_stop();
  void run_steady(Count rounds, Count slots);
  template <typename Visit>
  bool all_unused(Visit visit) const;
  void set_mark();
  bool shifted(Lanes<n>& by) const;
  Chunk& chunk(Count rank, Count local) const {
    return room_.chunks[static_cast<std::size_t>(rank * p_.chunks + local)];
  }
  Rank& rank(Count number) const { return room_.ranks[static_cast<std::size_t>(number)]; }

  const Pipeline& p_;
  AlternatingWorkspace<n>& room_;
  Count slots_;        // number of slots of a rank in each direction, without skipped rounds
  Count mask_ = 0;     // number of end times stored per flow, a power of two, minus 1
  Lanes<n> left_out_;  // seconds of skipped rounds
};

extern template class AlternatingRun<1>;
extern template class AlternatingRun<2>;
extern template class AlternatingRun<4>;

}  // namespace llmcalc
