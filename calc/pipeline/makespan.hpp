#pragma once
/// Makespan of a pipeline, computed without creating its tasks (calc/pipeline/events.hpp).

#include <array>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "calc/pipeline/alternating.hpp"
#include "calc/pipeline/rank_span.hpp"

namespace llmcalc {

/// `chunks` points into the MakespanWorkspace and is valid until its next use.
struct Makespan {
  Seconds total{};
  Seconds longest{};                    ///< the longest span of any rank if validates_after(schedule), otherwise 0
  std::span<const ChunkSpan> chunks{};  ///< spans by chunk_index() of rank and local chunk
};

/// Workspace for a search that computes makespans. It grows as needed and is freed only at the end of the search.
class MakespanWorkspace {
 public:
  MakespanWorkspace() = default;
  MakespanWorkspace(const MakespanWorkspace&) = delete;
  MakespanWorkspace& operator=(const MakespanWorkspace&) = delete;
  /// The slots of a rank, in order, in the last automatic schedule that was run.
  std::span<const Slot> slots(Count rank) const { return ranks_[static_cast<std::size_t>(rank)].slots; }

 private:
  friend class PipelineRun;
  template <std::size_t n>
  friend std::array<Makespan, n> makespans(const Pipeline& p, const std::array<PipelineTimes, n>& t,
                                           MakespanWorkspace& room);
  friend Makespan whole_makespan(const Pipeline& p, const PipelineTimes& t, MakespanWorkspace& room);
  /// The slots of a chunk in one direction: its forwards, or its input gradients. A slot's end time is stored until the
  /// next chunk has used it.
  struct Flow {
    double& end(Count micro_batch) const { return ends[micro_batch & saved]; }
    const Flow* from = nullptr;  ///< flow whose results it reads
    double latency = 0;          ///< seconds to send these results
    double ready = 0;
    Count done = 0;  ///< number of micro-batches done
    double* ends = nullptr;
    Count saved = 0;  ///< number of end times stored, a power of two, minus 1
  };
  struct Chunk {
    Flow forward{}, backward{};
    std::array<double, 4> seconds{};  ///< seconds of a slot, by SlotKind
    double paired = 0;
    Count weights = 0;  ///< number of weight gradients done, in automatic schedules
    double first = 0, last = 0;
  };
  /// A rank under GPipe as a station whose jobs are its forwards or backwards: earliest start, latency of the message
  /// that brings a job, and time per job.
  struct Station {
    double opens = 0, latency = 0, seconds = 0;
  };
  struct Rank {
    RankOrder order{};
    PlainOrderCursor at{};
    Count to_do = 0;  ///< number of slots until its stop
    double clock = 0, marked_clock = 0;
    Chunk* chunks = nullptr;  ///< local chunks of the rank
    // for automatic schedules: the next weight gradients, the number pending, and the number of micro-batches held
    PlainOrderCursor weights{};
    Count pending = 0, saved = 0, marked_pending = 0;
    std::vector<Slot> slots{};
  };
  std::vector<Rank> ranks_;
  std::vector<Chunk> chunks_;
  std::vector<double> ends_;
  std::vector<Station> stations_;
  std::vector<ChunkSpan> spans_;  ///< spans of the chunks, for all lanes
  std::vector<double> unused_;    // ends of slots with unused results at the time of the mark
  std::tuple<AlternatingWorkspace<1>, AlternatingWorkspace<2>, AlternatingWorkspace<4>> alternating_;
};

/// Simulates the pipeline. Precondition: the pipeline has no flaw, and every chunk and boundary has a time. Afterward
/// `room` holds the slots of an automatic schedule, without the skipped rounds. ZB-1p and ZB-2p may run in any order
/// within their memory limit, including the orders of ZB-H1 and ZB-H2. These are used if they are faster than the
/// order found by the rule for filling gaps.
Makespan makespan(const Pipeline& p, const PipelineTimes& t, MakespanWorkspace& room);

/// Makespans of one pipeline with n = 1, 2 or 4 sets of times. Schedules for which alternates() holds are simulated
/// once for all sets.
template <std::size_t n>
std::array<Makespan, n> makespans(const Pipeline& p, const std::array<PipelineTimes, n>& t, MakespanWorkspace& room);

/// Time of a step's slots: until the last rank is done or, if ranks update independently, from one step to the next.
inline Seconds step_of(const Pipeline& p, const Makespan& m) {
  return validates_after(p.schedule) ? m.longest : m.total;
}

/// Simulates the pipeline without skipping rounds, so that `room` afterward holds all slots of an automatic schedule.
Makespan whole_makespan(const Pipeline& p, const PipelineTimes& t, MakespanWorkspace& room);

}  // namespace llmcalc
