#pragma once
/// Simulation of one replica: one scheduler, or several for data-parallel attention ranks that step together, and the
/// times of passes.

#include <deque>
#include <functional>
#include <optional>

#include "serve/scheduler.hpp"
#include "serve/served.hpp"
#include "serve/times/pass_series.hpp"

namespace llmcalc {

struct EngineRules {
  SchedulerRules scheduler{};
  Count ranks = 1;  ///< number of data-parallel attention ranks, each with separate requests, blocks and limits; all
                    ///< wait for the slowest, because they exchange tokens for experts. For a pipeline: number of its
                    ///< micro-batches
};

class Server {
 public:
  Server(const EngineRules& rules, const PassTimes& times, const RequestList& requests, std::uint32_t replica);

  /// Adds a request that arrives at `now`. Precondition: `now` is not before the start of the pass in progress.
  void arrive(RequestId id, Ticks now, const Progress& progress = {});
  /// Whether no pass is in progress.
  bool resting() const { return !passing_; }
  bool idle() const;
  /// End of the passes in progress; `never` without passes in progress.
  Ticks end() const { return passing_ ? end_ : never; }
  /// Starts the next pass at `now`, if there is work.
  void start(Ticks now);
  /// Ends the passes in progress, records results in `run`, and calls `done` for requests that got their last token.
  void finish(ServerRun& run, const std::function<void(RequestId)>& done);

  Count in_system() const;
  Count waiting() const;
  PassRecord record(std::size_t rank) const;
  std::size_t ranks() const { return ranks_.size(); }

 private:
  void keep_until(Ticks now);
  void share_experts();
  void set_lead(std::size_t rank);
  Ticks duration(Count passes) const;
  Count passes_alike();
  bool leads_throughout(Count passes);
  Scheduler& least_loaded();
  /// Durations of the passes in progress after the first pass; valid until a sequence leaves the slowest rank.
  struct LaterPasses {
    Ticks second = 0, last = 0, all = 0;
  };
  LaterPasses later_passes() const;
  ServerTimeline::Stretch stretch() const;
  void note_stretch(ServerRun& run, const ServerTimeline::Stretch& all) const;
  void note_decisions(ServerRun& run, const Scheduler& rank) const;
  void note_end(ServerRun& run, const PassEnd& end, const PassEnds& ends, const LaterPasses& later) const;

  const PassTimes& times_;
  std::deque<Scheduler> ranks_;
  std::vector<PassWork> works_;  ///< work of each rank's next pass
  std::size_t lead_ = 0;         ///< the slowest rank in these passes
  PassSeries series_;            ///< durations of these passes on that rank; unused if cores are measured
  std::uint32_t replica_;
  Ticks start_ = 0, end_ = 0;
  Count passes_ = 0;
  std::vector<Ticks> came_;  ///< times of arrivals since the start of the passes in progress
  bool passing_ = false;
};

}  // namespace llmcalc
