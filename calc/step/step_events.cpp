#include "calc/step/step_events.hpp"

#include <algorithm>

#include "calc/links/route.hpp"
#include "calc/step/rank_end.hpp"

namespace llmcalc {
namespace {

/// Rows that a rank holds.
HeldRows held_by(const Prices& prices, const Partition& partition, const Pipeline& p, Count rank) {
  HeldRows rows;
  for (Count i = 0; i < p.chunks; ++i) add(rows, prices.kinds, partition[model_chunk(p, rank, i)]);
  return rows;
}

Sharing sharing_of(const Layout& layout, const Cluster& cluster, const Pipeline& p, double hidden) {
  return {.zero = layout.zero,
          .shared = shares_parameters(layout),
          .reshard = layout.reshard,
          .apart = p.ranks > 1 && splits_backward(p.schedule),
          .level = outermost_level(cluster, layout, Group::data),
          .fraction = hidden,
          .micro_batches = micro_batches_per_direction(p),
          .pipelined = p.ranks > 1,
          .pairs = pairs_experts(layout)};
}

/// Adds a step's tasks to a timeline.
class StepBuilder {
 public:
  StepBuilder(Timeline& timeline, PipelineTasks& tasks, const StepSeconds& s)
      : timeline_(timeline),
        tasks_(tasks),
        s_(s),
        last_(micro_batches_per_direction(s.pipeline) - 1),
        slots_(timeline, s_.pipeline, s_.chunks, s_.sharing),
        begins_(s.chunks.size()) {}

  Seconds build() {
    for (Count r = 0; r < s_.pipeline.ranks; ++r) add_gathers(r);
    add_slots();
    timeline_.run();  // computes the ends of the last backwards, which determine the order of the reductions
    std::vector<RankSums> sums;
    for (Count r = 0; r < s_.pipeline.ranks; ++r) sums.push_back(add_sums(r));
    if (s_.sharing.fraction < 1) timeline_.run();
    for (const RankSums& r : sums) put_off(r);
    for (Count r = 0; r < s_.pipeline.ranks; ++r) add_rest(r, sums[static_cast<std::size_t>(r)]);
    for (Count r = 0; r < s_.pipeline.ranks; ++r) add_update(r, sums[static_cast<std::size_t>(r)]);
    const Seconds end = timeline_.run().value();
    return validates_after(s_.pipeline.schedule) ? from_step_to_step() : end;
  }

 private:
  struct Local {
    Count index, chunk;
  };
  /// A task and the task that it waits for.
  struct Follower {
    std::size_t task, first;
  };
  /// The last task of a rank's reductions or of its update.
  struct Done {
    Count rank = 0;
    std::size_t task = 0;
  };
  /// The reductions of a rank's gradients, and the transfers of these gradients to host memory.
  struct RankSums {
    std::vector<Follower> reductions{}, landings{};
    std::vector<std::size_t> ends{};  ///< last tasks of the chunks' last slots
    std::size_t summed = 0;           ///< the mark after all reductions
    std::optional<std::size_t> landed{};
  };
  const std::vector<ChunkUnit>& units(Count chunk) const { return s_.chunks[static_cast<std::size_t>(chunk)].units; }
  /// A rank's chunks in model order, which is also the order of their first forwards.
  std::vector<Local> chunks(Count rank) const {
    std::vector<Local> all;
    for (Count i = 0; i < s_.pipeline.chunks; ++i)
      all.push_back({chunk_index(s_.pipeline, {rank, i}), model_chunk(s_.pipeline, rank, i)});
    std::sort(all.begin(), all.end(), [](const Local& a, const Local& b) { return a.chunk < b.chunk; });
    return all;
  }

  std::size_t add(const TaskStream& stream, TaskKind kind, Seconds duration = {}, Count chunk = -1, Count unit = -1) {
    Task t{.stream = timeline_.stream(stream), .kind = kind, .chunk = chunk};
    t.duration = duration;
    t.unit = unit;
    return timeline_.add(t);
  }
  TaskStream sharing(Count rank) const { return {.rank = rank, .lane = Lane::sharing, .level = s_.sharing.level}; }

  Seconds gathered(Count rank) const {
    Seconds all;
    for (const Local& c : chunks(rank))
      for (const ChunkUnit& u : units(c.chunk)) all += u.gather;
    return all;
  }

  /// Delay of a chunk's first forward if its weights begin to arrive only when the forward begins.
  Seconds delay(const std::vector<ChunkUnit>& units) {
    Seconds come, run, longest;
    for (const ChunkUnit& u : units) {
      come += u.gather;
      longest = std::max(longest, come - run);
      run += slots_.forward_of(u);
    }
    return longest;
  }

  void add_gathers(Count rank) {
    if (!s_.sharing.shared || s_.sharing.zero == Zero::none || s_.sharing.zero == Zero::weights) return;
    const Seconds all = gathered(rank);
    Seconds before;
    for (const Local& c : chunks(rank)) {
      const Seconds soonest = before + delay(units(c.chunk)), later = (1 - s_.sharing.fraction) * (all - soonest);
      begins_[static_cast<std::size_t>(c.chunk)] = soonest + later;
      for (const ChunkUnit& u : units(c.chunk)) {
        std::optional<Ahead>& wait = slots_.gathered(c.index).emplace_back();
        before += u.gather;
        if (u.gather <= Seconds() && &u != units(c.chunk).data()) continue;
        const TaskKind kind = u.gather > Seconds() ? TaskKind::gather_weights : TaskKind::mark;
        wait = {add(sharing(rank), kind, u.gather, c.chunk, u.number), Seconds() - later};
      }
    }
  }

  /// Adds the slots. The order of an automatic schedule depends on the times at which gathers make chunks ready.
  void add_slots() {
    for (std::size_t q = 0; q < s_.chunks.size(); ++q) times_.push_back(slots_.times(static_cast<Count>(q)));
    SlotMaker maker;
    maker.put = [this](Timeline&, Count rank, const Slot& slot, const Task& whole) {
      return slots_.put(rank, slot, whole);
    };
    add_pipeline(timeline_, tasks_, s_.pipeline, {times_, s_.sends, begins_}, maker);
  }

  /// The task that ends a chunk's last backward.
  std::size_t last_of(const Local& c) {
    const std::size_t gradients = tasks_.gradients(c.index, last_).end, weights = tasks_.weights(c.index, last_).end;
    return timeline_.tasks()[gradients].end > timeline_.tasks()[weights].end ? gradients : weights;
  }

  /// A rank's chunks in the order in which their last backwards end.
  std::vector<Local> by_end(Count rank) {
    std::vector<Local> all = chunks(rank);
    const auto end = [&](const Local& c) { return timeline_.tasks()[last_of(c)].end; };
    std::stable_sort(all.begin(), all.end(), [&](const Local& a, const Local& b) { return end(a) < end(b); });
    return all;
  }

  /// Adds a rank's reductions and transfers to host memory, each as early as possible.
  RankSums add_sums(Count rank) {
    RankSums sums;
    const auto follow = [&](std::vector<Follower>& all, std::size_t task, std::size_t first) {
      timeline_.wait_for(task, first);
      all.push_back({task, first});
      return task;
    };
    for (const Local& c : by_end(rank)) {
      sums.ends.push_back(last_of(c));
      for (std::size_t k = units(c.chunk).size(); k-- > 0;) {
        const ChunkUnit& u = units(c.chunk)[k];
        std::size_t ready = slots_.unit_ends(c.index)[k];
        if (u.reduce > Seconds() && s_.sharing.zero != Zero::weights)
          ready = follow(sums.reductions, add(sharing(rank), TaskKind::reduce_gradients, u.reduce, c.chunk, u.number),
                         ready);
        if (u.down > Seconds())
          follow(sums.landings, add({rank, Lane::to_host}, TaskKind::offload_gradients, u.down, c.chunk, u.number),
                 ready);
      }
    }
    sums.summed = add(sharing(rank), TaskKind::mark);
    for (const std::size_t end : sums.ends) timeline_.wait_for(sums.summed, end);
    if (sums.landings.empty()) return sums;
    sums.landed = add({rank, Lane::to_host}, TaskKind::mark);
    timeline_.wait_for(*sums.landed, sums.summed);
    return sums;
  }

  Seconds seconds_of(const std::vector<Follower>& all) const {
    Seconds sum;
    for (const Follower& f : all) sum += timeline_.tasks()[f.task].duration;
    return sum;
  }
  Seconds end_of(std::size_t task) const { return timeline_.tasks()[task].end; }

  /// Delays a rank's reductions and transfers to host memory by the exposed part of their possible overlap. The
  /// timeline must have been run before.
  void put_off(const RankSums& r) {
    const double exposed = 1 - s_.sharing.fraction;
    if (exposed <= 0) return;
    Seconds last;
    for (const std::size_t end : r.ends) last = std::max(last, end_of(end));
    const Seconds later = exposed * (seconds_of(r.reductions) - (end_of(r.summed) - last));
    for (const Follower& f : r.reductions) timeline_.wait_for(f.task, f.first, Seconds() - later);
    for (const std::size_t end : r.ends) timeline_.wait_for(r.summed, end, Seconds() - later);
    if (!r.landed) return;
    const Seconds more = exposed * (seconds_of(r.landings) - (end_of(*r.landed) - end_of(r.summed)));
    for (const Follower& f : r.landings) {
      const bool reduced = timeline_.tasks()[f.first].kind == TaskKind::reduce_gradients;
      timeline_.wait_for(f.task, f.first, Seconds() - more - (reduced ? Seconds() : later));
    }
    timeline_.wait_for(*r.landed, r.summed, Seconds() - more);
  }

  /// Adds the other reductions of a rank, and lists the tasks that optimizers wait for.
  void add_rest(Count rank, const RankSums& r) {
    done_.push_back({rank, r.summed});
    const Seconds sums = s_.sums[static_cast<std::size_t>(rank)];
    if (sums > Seconds()) done_.push_back({rank, add(sharing(rank), TaskKind::reduce_gradients, sums)});
  }

  /// Makes a task wait for the reductions of all ranks; if updates are validated afterward, only for this rank's
  /// reductions.
  void wait_for_sums(std::size_t task, Count rank) {
    for (const Done& d : done_)
      if (!validates_after(s_.pipeline.schedule) || d.rank == rank) timeline_.wait_for(task, d.task);
  }

  void add_update(Count rank, const RankSums& r) {
    const auto i = static_cast<std::size_t>(rank);
    updates_.push_back({rank, add({.rank = rank}, TaskKind::optimizer, s_.updates[i])});
    wait_for_sums(updates_.back().task, rank);
    if (r.landed) updates_.push_back({rank, *r.landed});
    if (s_.on_host[i] <= Seconds()) return;
    updates_.push_back({rank, add({rank, Lane::host}, TaskKind::update_on_host, s_.on_host[i])});
    wait_for_sums(updates_.back().task, rank);
    if (r.landed) timeline_.wait_for(updates_.back().task, *r.landed);
  }

  /// The latest time at which a rank's weights can begin to arrive without delaying the first forward of any chunk.
  Seconds begin_of(Count rank) {
    std::optional<Seconds> first;
    for (const Local& c : chunks(rank)) {
      const auto q = static_cast<std::size_t>(c.chunk);
      const Seconds begin = end_of(tasks_.forward(c.index, 0).end) - times_[q].forward - begins_[q];
      first = first ? std::min(*first, begin) : begin;
    }
    return *first;
  }
  /// Time from the beginning of a rank's step to the end of its updates, for the slowest rank.
  Seconds from_step_to_step() {
    Seconds longest;
    for (const Done& d : updates_) longest = std::max(longest, end_of(d.task) - begin_of(d.rank));
    return longest;
  }

  Timeline& timeline_;
  PipelineTasks& tasks_;
  const StepSeconds& s_;
  Count last_;  ///< index of the last micro-batch of a direction
  SlotEvents slots_;
  std::vector<Seconds> begins_;       ///< earliest start of each model chunk's first forward, given its weights
  std::vector<ChunkTime> times_{};    ///< times of each model chunk
  std::vector<Done> done_, updates_;  ///< tasks that optimizers wait for; tasks of the updates
};

}  // namespace

StepSeconds step_seconds(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                         const Partition& partition, Efficiency e) {
  const RowTimes rows = row_times(prices, plan, layout, cluster, e);
  StepSeconds s;
  s.pipeline = pipeline_of(plan, layout);
  s.sharing = sharing_of(layout, cluster, s.pipeline, rows.hidden);
  for (Count q = 0; q < partition.size(); ++q)
    s.chunks.push_back(chunk_units(prices, rows, plan, layout, cluster, partition[q], e));
  s.sends.assign(s.chunks.size() - 1, send_seconds(prices, layout, cluster, e));
  const RankEnd end(prices, plan, layout, cluster, e, s.pipeline);
  for (Count r = 0; r < s.pipeline.ranks; ++r) {
    const HeldRows held = held_by(prices, partition, s.pipeline, r);
    s.sums.push_back(end.sums(held).total());
    const UpdateSeconds update = end.updating(held);
    s.updates.push_back(update.device);
    s.on_host.push_back(beside(update.host, update.weights, rows.hidden));
  }
  return s;
}

Seconds add_step(Timeline& timeline, PipelineTasks& tasks, const StepSeconds& s) {
  return StepBuilder(timeline, tasks, s).build();
}

}  // namespace llmcalc
