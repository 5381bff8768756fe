#pragma once
/// When a pipeline is done: the numbers of its tasks (calc/pipeline/events.hpp) without making the tasks.

#include <optional>
#include <span>
#include <vector>

#include "calc/pipeline/rank_span.hpp"

namespace llmcalc {

/// The spans lie in the room and hold until its next use.
struct Makespan {
  Seconds total{};
  Seconds longest{};                    ///< span of a rank
  std::span<const ChunkSpan> chunks{};  ///< by chunk_index() of rank and local chunk
  std::span<const Seconds> busy{};      ///< by rank, without waiting
};

/// The memory of a search that asks for makespans. It grows, and is never given back before its end.
class MakespanRoom {
 public:
  MakespanRoom() = default;
  MakespanRoom(const MakespanRoom&) = delete;
  MakespanRoom& operator=(const MakespanRoom&) = delete;
  /// The slots of a rank of the automatic schedule that was run last, in order.
  std::span<const Slot> slots(Count rank) const { return ranks_[static_cast<std::size_t>(rank)].slots; }

 private:
  friend class PipelineRun;
  /// The slots of a chunk in one direction: its forwards, or its gradients of inputs. A slot's end time is kept until
  /// the next chunk has used it.
  struct Flow {
    double& end(Count micro_batch) const { return ends[micro_batch & kept]; }
    const Flow* from = nullptr;  ///< whose results it takes
    double latency = 0;          ///< of their sends
    double ready = 0;
    Count done = 0;  ///< micro-batches
    double* ends = nullptr;
    Count kept = 0;  ///< a power of two less 1
  };
  struct Chunk {
    Flow forward{}, backward{};
    std::array<double, 4> seconds{};  ///< by SlotKind
    double paired = 0;
    Count weights = 0;  ///< gradients of weights done, in automatic schedules
    double first = 0, last = 0;
  };
  /// A rank's forwards or backwards under GPipe: when it opens, how long a job travels to it, and how long it takes.
  struct Station {
    double opens = 0, latency = 0, seconds = 0;
  };
  struct Rank {
    RankOrder order{};
    OrderCursor at{};
    Count to_do = 0;  ///< slots until it stops
    double clock = 0, marked_clock = 0;
    Chunk* chunks = nullptr;  ///< its local chunks
    // of automatic schedules: the next gradients of weights, how many there are, and micro-batches of chunks kept
    OrderCursor weights{};
    Count pending = 0, kept = 0, marked_pending = 0;
    std::vector<Slot> slots{};
  };
  std::vector<Rank> ranks_;
  std::vector<Chunk> chunks_;
  std::vector<double> ends_;
  std::vector<Station> stations_;
  std::vector<ChunkSpan> spans_;
  std::vector<Seconds> busy_;
  std::vector<double> unused_;  // at the mark: ends of slots whose results were not used yet
};

/// Precondition: the pipeline has no flaw, and there is a time for each chunk and boundary.
/// Afterwards the room holds the slots of an automatic schedule, without the rounds that repeat. ZB-1p and ZB-2p may
/// run every order that stays within their memory, those of ZB-H1 and ZB-H2 among them: where such a one takes less
/// time than what the rule for gaps makes, it is theirs.
Makespan makespan(const Pipeline& p, const PipelineTimes& t, MakespanRoom& room);

/// The time of a step's slots: until the last rank is done, or from step to step where a rank goes on by itself.
inline Seconds step_of(const Pipeline& p, const Makespan& m) {
  return validates_after(p.schedule) ? m.longest : m.total;
}

/// The same with no round left out, so that the room holds all slots of an automatic schedule.
Makespan whole_makespan(const Pipeline& p, const PipelineTimes& t, MakespanRoom& room);

}  // namespace llmcalc
