#pragma once
/// Event simulation of a pipeline's slots at one set of times.

#include <optional>
#include <span>

#include "calc/pipeline/makespan.hpp"

namespace llmcalc {

/// Runs the slots of all ranks in an order in which every slot follows its inputs, for schedules for which
/// alternates() is false. Repeated rounds are skipped as in AlternatingRun; the state at a cut also includes the
/// number of pending weight gradients, and if weight gradients fill gaps, later times may depend on differences of
/// times.
class PipelineRun {
 public:
  PipelineRun(const Pipeline& p, const PipelineTimes& t, MakespanWorkspace& room, std::span<ChunkSpan> spans,
              bool whole)
      : p_(p), t_(t), room_(room), spans_(spans), whole_(whole) {
    prepare();
  }
  Makespan run();
  Makespan run_and_write();  ///< also stores the slots of a fixed order, as for an automatic schedule

 private:
  using Rank = MakespanWorkspace::Rank;
  using Chunk = MakespanWorkspace::Chunk;
  using Flow = MakespanWorkspace::Flow;
  using Station = MakespanWorkspace::Station;
  static constexpr Count apart = 8;  // gap between flows' end times, so a micro-batch's ends use different cache sets
  static constexpr auto forward = static_cast<std::size_t>(SlotKind::forward);
  static constexpr auto backward = static_cast<std::size_t>(SlotKind::backward);
  static constexpr auto weight = static_cast<std::size_t>(SlotKind::backward_weight);
  void prepare();
  Count most_unused() const;
  void prepare_rank(Count number);
  void prepare_chunk(ChunkPlace at);
  void place_weights(Rank& rank, SlotKind next, double start);
  void run_weights(Rank& rank);
  static bool arrives(const Flow& f, double& start);
  template <bool by_rule>
  bool pass(Rank& rank);
  bool pass(Rank& rank);
  void run_to_stop();
  void stop_at_steady(Rank& rank) const;
  void run_steady(Count rounds);
  void run_slots();
  double leaves(std::size_t last) const;
  void run_gpipe();
  template <typename Visit>
  bool all_unused(Visit visit) const;
  void set_mark();
  std::optional<double> shift() const;
  void leave_out(Count rounds, Count of, double seconds_per_round);
  Chunk& chunk(Count index) const { return room_.chunks_[static_cast<std::size_t>(index)]; }

  const Pipeline& p_;
  const PipelineTimes& t_;
  MakespanWorkspace& room_;
  std::span<ChunkSpan> spans_;
  bool whole_;            // whether every round runs, without skipping
  Count most_saved_ = 0;  // maximum number of micro-batches that a rank of an automatic schedule holds
  bool automatic_ = false;
  Count saved_ = 0;      // number of end times stored per flow
  double left_out_ = 0;  // seconds of skipped rounds
};

}  // namespace llmcalc
