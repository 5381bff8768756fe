#include "calc/step_events.hpp"

#include <algorithm>

#include "calc/rank_end.hpp"

namespace llmcalc {
namespace {

/// Rows that a rank holds.
HeldRows held_by(const Prices& prices, const Partition& partition, const Pipeline& p, Count rank) {
  HeldRows rows;
  for (Count i = 0; i < p.chunks; ++i) add(rows, prices.kinds, partition[model_chunk(p, rank, i)]);
  return rows;
}

/// Puts a step's tasks on a timeline.
class StepBuilder {
 public:
  StepBuilder(Timeline& timeline, PipelineTasks& tasks, const StepSeconds& s)
      : timeline_(timeline), tasks_(tasks), s_(s), last_(micro_batches_per_direction(s.pipeline) - 1) {}

  Seconds build() {
    add_slots();
    for (Count r = 0; r < s_.pipeline.ranks; ++r) add_gathers(r);
    timeline_.run();  // when the last backwards end: their order is that of the reductions
    for (Count r = 0; r < s_.pipeline.ranks; ++r) add_sums(r);
    for (Count r = 0; r < s_.pipeline.ranks; ++r) add_update(r);
    return timeline_.run().value();
  }

 private:
  struct Local {
    Count index, chunk;
  };
  const ChunkSeconds& seconds(Count chunk) const { return s_.chunks[static_cast<std::size_t>(chunk)]; }
  /// A rank's chunks in the order of the model, in which it runs them first.
  std::vector<Local> chunks(Count rank) const {
    std::vector<Local> all;
    for (Count i = 0; i < s_.pipeline.chunks; ++i)
      all.push_back({chunk_index(s_.pipeline, {rank, i}), model_chunk(s_.pipeline, rank, i)});
    std::sort(all.begin(), all.end(), [](const Local& a, const Local& b) { return a.chunk < b.chunk; });
    return all;
  }

  /// When a chunk of a rank can begin, by the weights that come: all are there at `end`.
  Seconds ready(const Local& chunk, Seconds before, Seconds end) const {
    const Seconds soonest = before + seconds(chunk.chunk).gathering;
    return soonest + (1 - s_.hidden) * (end - soonest);
  }
  Seconds gathered(Count rank) const {
    Seconds all;
    for (const Local& c : chunks(rank)) all += seconds(c.chunk).gather;
    return all;
  }

  /// The order of an automatic schedule depends on when chunks are ready: when the gathers below let them.
  void add_slots() {
    std::vector<ChunkTime> times;
    for (std::size_t q = 0; q < s_.chunks.size(); ++q)
      times.push_back(chunk_time(s_.chunks, static_cast<Count>(q), s_.pipeline.schedule, s_.hidden));
    std::vector<Seconds> begins(s_.chunks.size());
    for (Count r = 0; r < s_.pipeline.ranks; ++r) {
      Seconds before;
      for (const Local& c : chunks(r)) {
        begins[static_cast<std::size_t>(c.chunk)] = ready(c, before, gathered(r));
        before += seconds(c.chunk).gather;
      }
    }
    add_pipeline(timeline_, tasks_, s_.pipeline, {times, s_.sends, begins});
  }

  std::size_t add(const TaskStream& stream, TaskKind kind, Count chunk, Seconds duration) {
    Task t{.stream = timeline_.stream(stream), .kind = kind, .chunk = chunk};
    t.duration = duration;
    return timeline_.add(t);
  }

  void add_gathers(Count rank) {
    Seconds before;
    std::vector<std::size_t> gathers;
    for (const Local& c : chunks(rank))
      if (const Seconds gather = seconds(c.chunk).gather; gather > Seconds())
        gathers.push_back(add(sharing_stream(rank), TaskKind::gather_weights, c.chunk, gather));
    for (const Local& c : chunks(rank)) {
      const Seconds end = gathered(rank);
      if (!gathers.empty()) timeline_.wait_for(tasks_.forward(c.index, 0), gathers.back(), end - ready(c, before, end));
      before += seconds(c.chunk).gather;
    }
  }

  /// The task with which a chunk's last backward ends.
  std::size_t last_of(const Local& c) {
    const std::size_t gradients = tasks_.gradients(c.index, last_), weights = tasks_.weights(c.index, last_);
    return timeline_.tasks()[gradients].end > timeline_.tasks()[weights].end ? gradients : weights;
  }

  /// A rank's chunks in the order in which their last backwards end.
  std::vector<Local> by_end(Count rank) {
    std::vector<Local> all = chunks(rank);
    const auto end = [&](const Local& c) { return timeline_.tasks()[last_of(c)].end; };
    std::stable_sort(all.begin(), all.end(), [&](const Local& a, const Local& b) { return end(a) < end(b); });
    return all;
  }

  bool lands(Count rank) const {
    const std::vector<Local> all = chunks(rank);
    return std::any_of(all.begin(), all.end(), [&](const Local& c) { return seconds(c.chunk).down > Seconds(); });
  }

  /// By how much a rank's reductions are later than they could be: by what could be hidden and is not.
  Seconds held_back(Count rank) {
    Seconds network, last, all;
    for (const Local& c : by_end(rank)) {
      const ChunkSeconds& s = seconds(c.chunk);
      last = timeline_.tasks()[last_of(c)].end;
      network = std::max(network + s.reduction, last + s.reducing);
      all += s.reduction;
    }
    return (1 - s_.hidden) * (all - (network - last));
  }

  void add_sums(Count rank) {
    const Seconds later = held_back(rank);
    std::vector<std::size_t> ends;
    for (const Local& c : by_end(rank)) {
      const ChunkSeconds& s = seconds(c.chunk);
      ends.push_back(last_of(c));
      if (s.reduction <= Seconds()) continue;
      done_.push_back(add(sharing_stream(rank), TaskKind::reduce_gradients, c.chunk, s.reduction));
      timeline_.wait_for(done_.back(), ends.back(), s.reduction - s.reducing - later);
    }
    if (lands(rank)) add_landing(rank, later);
    done_.insert(done_.end(), ends.begin(), ends.end());
    const Seconds sums = s_.sums[static_cast<std::size_t>(rank)];
    if (sums <= Seconds()) return;
    const std::size_t rest = add(sharing_stream(rank), TaskKind::reduce_gradients, -1, sums);
    for (const std::size_t end : ends) timeline_.wait_for(rest, end);
    done_.push_back(rest);
  }

  /// Adds the transfers of a rank's gradients to the host. Its chunks' gradients are reduced one after another.
  void add_landing(Count rank, Seconds later) {
    const std::vector<Local> order = by_end(rank);
    const Seconds held = later + (1 - s_.hidden) * unhidden_landing(order);
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ChunkSeconds& s = seconds(order[i].chunk);
      ends.push_back(last_of(order[i]));
      const std::size_t task = add(host_stream(rank), TaskKind::offload_gradients, order[i].chunk, s.down);
      timeline_.wait_for(task, ends[i], s.down - s.landing - held);
      Seconds reduced = s.passing;  // from the end of an earlier chunk's reduction
      for (std::size_t j = i; j-- > 0;) {
        const ChunkSeconds& before = seconds(order[j].chunk);
        timeline_.wait_for(task, ends[j], s.down - reduced - before.reducing - held);
        reduced += before.reduction;
      }
    }
  }
  /// Seconds of the transfers to the host that run beside other work at full overlap.
  Seconds unhidden_landing(const std::vector<Local>& order) {
    Seconds network, host, all;
    for (const Local& c : order) {
      const ChunkSeconds& s = seconds(c.chunk);
      const Seconds end = timeline_.tasks()[last_of(c)].end;
      host = std::max({host + s.down, network + s.passing, end + s.landing});
      network = std::max(network + s.reduction, end + s.reducing);
      all += s.down;
    }
    return all - std::max(Seconds(), host - network);
  }

  void add_update(Count rank) {
    const auto r = static_cast<std::size_t>(rank);
    const std::size_t task = add(compute_stream(rank), TaskKind::optimizer, -1, s_.updates[r]);
    for (const std::size_t other : done_) timeline_.wait_for(task, other);
    if (s_.on_host[r] <= Seconds()) return;
    const std::size_t host = add(host_stream(rank), TaskKind::update_on_host, -1, s_.on_host[r]);
    for (const std::size_t other : done_) timeline_.wait_for(host, other);
  }

  Timeline& timeline_;
  PipelineTasks& tasks_;
  const StepSeconds& s_;
  Count last_;                     ///< micro-batch of a direction
  std::vector<std::size_t> done_;  ///< what all optimizers wait for
};

}  // namespace

StepSeconds step_seconds(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
                         const Partition& partition, Efficiency e) {
  const RowTimes rows = row_times(prices, plan, layout, cluster, e);
  StepSeconds s;
  s.pipeline = pipeline_of(plan, layout);
  s.hidden = rows.hidden;
  for (Count q = 0; q < partition.size(); ++q)
    s.chunks.push_back(chunk_seconds(prices, rows, layout, partition[q], micro_batches_per_direction(s.pipeline)));
  s.sends.assign(s.chunks.size() - 1, send_seconds(prices, layout, cluster, e));
  const RankEnd end(prices, plan, layout, cluster, e, s.pipeline);
  for (Count r = 0; r < s.pipeline.ranks; ++r) {
    const HeldRows held = held_by(prices, partition, s.pipeline, r);
    s.sums.push_back(end.sums(held).total());
    const UpdateSeconds update = end.updating(held);
    s.updates.push_back(update.device);
    s.on_host.push_back(beside(update.host, update.weights, s.hidden));
  }
  return s;
}

Seconds add_step(Timeline& timeline, PipelineTasks& tasks, const StepSeconds& s) {
  return StepBuilder(timeline, tasks, s).build();
}

}  // namespace llmcalc
