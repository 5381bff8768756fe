#pragma once
/// The times of a training step at one set of rates: its chunks, the end of every rank, and the seconds by part.

#include <algorithm>

#include "calc/pipeline/bound.hpp"
#include "calc/step/rank_end.hpp"
#include "calc/step/step_parts.hpp"

namespace llmcalc {

/// Computes a step at one set of rates.
class StepClock {
 public:
  StepClock(const Prices& prices, const Plan& plan, const Layout& layout, const Cluster& cluster,
            const Partition& partition, const RowTimes& rows, Efficiency e, StepWorkspace& room)
      : prices_(prices),
        offloads_(plan.offload.any()),
        layout_(layout),
        cluster_(cluster),
        partition_(partition),
        rows_(rows),
        efficiency_(e),
        room_(room.chunks[e == Efficiency::full ? 0 : 1]),
        pipeline_(pipeline_of(plan, layout)),
        end_(prices, plan, layout, cluster, e, pipeline_) {}

  /// Computes the times of all model chunks.
  void price_chunks() {
    room_.classes.clear();
    room_.seconds.clear();
    for (Count q = 0; q < partition_.size(); ++q) {
      if (q == 0 || !same_rows(prices_.kinds, partition_[q - 1], partition_[q]))
        room_.seconds.push_back(
            chunk_seconds(prices_, rows_, layout_, partition_[q], micro_batches_per_direction(pipeline_)));
      room_.classes.push_back(room_.seconds.size() - 1);
    }
    if (pipeline_.ranks > 1) put_times();
  }

  /// Seconds by part without a pipeline, when micro-batches run one after another.
  Spent run_alone(StepParts& parts) {
    put_spent();
    const ChunkSeconds& s = seconds_of(0);
    const Seconds one = s.forward + s.backward_input + s.backward_weight;
    const Seconds gathered = exposed(s.gather, s.gathering);
    const Seconds last = gathered + static_cast<double>(pipeline_.micro_batches) * one;
    const Seconds summed = std::max(s.reduction, last + s.reducing) - last;
    const HeldRows rows = held_by(0);
    const Spent sums = end_.sums(rows);
    Spent all = work_of(0);
    all += sums;
    const Spent update = end_.update(rows);
    all += update;
    parts.gathers = gathered;
    parts.reductions = exposed(s.reduction, summed);
    parts.others = sums[Part::dp] + update[Part::dp];
    all[Part::dp] += parts.gathers + parts.reductions;
    add_waits(0, parts);
    if (!offloads_) return all;
    const RankSummed end = then(s, last, {});
    all[Part::offload] += on_host(rows, std::max(Seconds(), landed(end) - network_end(end) - sums.total()));
    return all;
  }

  /// Times of the pipeline after price_chunks(); unsent(): with messages that take no time.
  PipelineTimes times() const { return {room_.times, room_.sends, room_.ready}; }
  PipelineTimes unsent() const { return {room_.times, {}, room_.ready}; }

  /// Seconds by part, averaged over the ranks, and their components. `m`: the makespan of times(); `unsent`: the
  /// makespan of unsent().
  Spent run(const Makespan& m, Seconds unsent, StepParts& parts) {
    put_spent();
    Seconds busiest;
    InplaceVector<Seconds, max_layers> works;
    Spent all, work;
    const auto visit = [&](Count r, Seconds end, const Spent& sums, const Spent& update) {
      if (!repeats(r)) work = work_of(r);
      busiest = std::max(busiest, works.push(work.total()));
      const Seconds reduced = end - last_backward(r, m), gathered = gather_wait(r, m);
      Spent rest = sums;
      rest[Part::dp] += reduced + gathered;
      parts.reductions += reduced;
      parts.gathers += gathered;
      parts.others += sums[Part::dp] + update[Part::dp];
      parts.table += sums[Part::pp];
      add_waits(r, parts);
      all += work;
      all += rest;
      all += update;
    };
    const Seconds step = end_of_step(m, visit, [&](Seconds on_host) { all[Part::offload] += on_host; });
    const double share = 1 / static_cast<double>(pipeline_.ranks);
    all = share * all;
    for (Seconds* mean : {&parts.reductions, &parts.gathers, &parts.others, &parts.waits, &parts.sending, &parts.table})
      *mean = share * *mean;
    Seconds behind;
    for (const Seconds one : works) behind += busiest - one;
    parts.pipelined = step_of(pipeline_, m);
    parts.unsent = unsent;
    return with_waiting(all, step, share * behind, parts);
  }

  /// Adds the work of every rank of a pipeline.
  void put_work(StepParts& parts) const {
    for (Count r = 0; r < pipeline_.ranks && pipeline_.ranks > 1; ++r) parts.work.push_back(work_of(r).total());
  }

  /// Total seconds of the step: the sum of the parts of run(), up to rounding.
  Seconds seconds(const Makespan& m) {
    return end_of_step(
        m, [](Count, Seconds, const Spent&, const Spent&) {}, [](Seconds) {});
  }

  const Pipeline& pipeline() const { return pipeline_; }

 private:
  std::size_t class_of(Count chunk) const { return room_.classes[static_cast<std::size_t>(chunk)]; }
  const ChunkSeconds& seconds_of(Count chunk) const { return room_.seconds[class_of(chunk)]; }

  /// Sets the seconds by part of every class of chunks.
  void put_spent() {
    room_.spent.clear();
    for (std::size_t q = 0; q < room_.classes.size(); ++q)
      if (room_.classes[q] == room_.spent.size())
        room_.spent.push_back(rows_.spent_in(prices_.kinds, partition_[static_cast<Count>(q)]));
  }

  /// Sets the times of a pipeline's chunks.
  void put_times() {
    const Count chunks = partition_.size();
    room_.sends.assign(static_cast<std::size_t>(chunks - 1), send_seconds(prices_, layout_, cluster_, efficiency_));
    room_.times.clear();
    for (Count q = 0; q < chunks; ++q)
      room_.times.push_back(chunk_time(seconds_of(q), seconds_of(chunks - 1 - q), pipeline_.schedule, rows_.hidden));
    room_.ready.assign(static_cast<std::size_t>(chunks), Seconds());
    if (std::none_of(room_.seconds.begin(), room_.seconds.end(),
                     [](const ChunkSeconds& s) { return s.gather > Seconds(); }))
      return;
    for (Count q = 0; q < chunks; ++q) room_.ready[static_cast<std::size_t>(q)] = ready(q);
  }

  /// Exposed seconds of a collective that takes `all` seconds, of which at least `bare` are exposed.
  Seconds exposed(Seconds all, Seconds bare) const { return bare + (1 - rows_.hidden) * (all - bare); }

  /// Time at which a chunk's first forward can begin. A rank gathers the weights of its chunks in model order, which
  /// is also the order of their first forwards.
  Seconds ready(Count chunk) const {
    Seconds before, all;
    for_each_chunk(rank_of(pipeline_, chunk), [&](Count q, Count) {
      const Seconds one = seconds_of(q).gather;
      all += one;
      if (q < chunk) before += one;
    });
    return exposed(all, before + seconds_of(chunk).gathering);
  }

  /// Whether a rank's chunks have the same rows as the previous rank's, and thus the same work.
  bool repeats(Count rank) const {
    if (rank == 0 || pairs_experts(layout_)) return false;
    for (Count i = 0; i < pipeline_.chunks; ++i)
      if (class_of(model_chunk(pipeline_, rank - 1, i)) != class_of(model_chunk(pipeline_, rank, i))) return false;
    return true;
  }

  template <typename F>
  void for_each_chunk(Count rank, const F& f) const {
    for (Count i = 0; i < pipeline_.chunks; ++i) f(model_chunk(pipeline_, rank, i), i);
  }

  /// Duration of the step. For every rank, calls `visit` with the end of its data-parallel reductions, its other
  /// reductions and its optimizer pass (equal for ranks with the same rows), and `wait` with its additional wait for
  /// the host.
  template <typename Visit, typename Wait>
  Seconds end_of_step(const Makespan& m, const Visit& visit, const Wait& wait) const {
    struct Ending {
      Seconds summed, update;
    };
    InplaceVector<Ending, max_layers> ends;
    Spent sums, update;
    Seconds all;  // time until the last rank has reduced its gradients
    for (Count r = 0; r < pipeline_.ranks; ++r) {
      if (!repeats(r)) {
        const HeldRows rows = held_by(r);
        sums = end_.sums(rows);
        update = end_.update(rows);
      }
      const Seconds end = network_end(summed_by(r, m));
      all = std::max(all, ends.push({end + sums.total(), update.total()}).summed);
      visit(r, end, sums, update);
    }
    Seconds step;
    for (Count r = 0; r < pipeline_.ranks; ++r) {
      const Ending& e = ends[static_cast<std::size_t>(r)];
      const Seconds begin = alone() ? e.summed : all;
      Seconds waits;
      if (offloads_) wait(waits = on_host(held_by(r), std::max(Seconds(), landed(summed_by(r, m)) - begin)));
      step = std::max(step, begin + (e.update + waits) - begin_of_step(r, m));
    }
    return step;
  }
  /// Whether a rank runs its optimizer as soon as its own gradients are reduced.
  bool alone() const { return validates_after(pipeline_.schedule); }
  /// Start of a rank's step: its own start if ranks update independently, otherwise the common start of all ranks.
  Seconds begin_of_step(Count rank, const Makespan& m) const {
    return alone() ? rank_span(pipeline_, times(), m.chunks, rank).begin : Seconds();
  }
  /// Wait for the host after a rank's own part of the update. `late`: delay of the last gradients on the host.
  Seconds on_host(const HeldRows& rows, Seconds late) const {
    const UpdateSeconds update = end_.updating(rows);
    return update.total(late, rows_.hidden) - update.device;
  }
  HeldRows held_by(Count rank) const {
    HeldRows rows;
    for_each_chunk(rank, [&](Count q, Count) { add(rows, prices_.kinds, partition_[q]); });
    return rows;
  }

  /// Seconds of a rank's micro-batches, including stalls for data-parallel collectives. The time that paired slots
  /// save is subtracted from expert collectives.
  Spent work_of(Count rank) const {
    Spent one;
    for_each_chunk(rank, [&](Count q, Count) {
      one += room_.spent[class_of(q)];
      one[Part::dp] += seconds_of(q).waiting;
      one[Part::pp] += 2 * seconds_of(q).sending;
    });
    Spent all = static_cast<double>(micro_batches_per_direction(pipeline_)) * one;
    if (!pairs_experts(layout_)) return all;
    all[Part::ep] = std::max(Seconds(), all[Part::ep] - saved_by_pairs(pipeline_, unsent(), rank));
    return all;
  }
  /// Adds the stalls of a rank's micro-batches.
  void add_waits(Count rank, StepParts& parts) const {
    const auto n = static_cast<double>(micro_batches_per_direction(pipeline_));
    for_each_chunk(rank, [&](Count q, Count) {
      parts.waits += n * seconds_of(q).waiting;
      parts.sending += n * (2 * seconds_of(q).sending);
    });
  }

  /// With full overlap: the ends of a rank's last backward (`last`), of its data-parallel reductions (`network`) and
  /// of its gradient transfers to the host (`host`). Without overlap: the seconds of these reductions (`all`) and
  /// transfers (`down`).
  struct RankSummed {
    Seconds last, network, host, all, down;
  };
  /// Adds a chunk, whose last backward ends at `end`, to the chunks in `before`.
  static RankSummed then(const ChunkSeconds& s, Seconds end, const RankSummed& before) {
    return {.last = end,
            .network = std::max(before.network + s.reduction, end + s.reducing),
            .host = std::max({before.host + s.down, before.network + s.passing, end + s.landing}),
            .all = before.all + s.reduction,
            .down = before.down + s.down};
  }
  /// Combines the chunks of a rank, in the order in which their last backwards end.
  RankSummed summed_by(Count rank, const Makespan& m) const {
    InplaceVector<std::pair<Seconds, Count>, most_chunks> ends;
    for_each_chunk(rank, [&](Count q, Count i) { ends.push({span(rank, i, m).last, q}); });
    std::sort(ends.begin(), ends.end());
    RankSummed s;
    for (const auto& [end, q] : ends) s = then(seconds_of(q), end, s);
    return s;
  }
  Seconds network_end(const RankSummed& s) const { return s.last + exposed(s.all, s.network - s.last); }
  Seconds landed(const RankSummed& s) const {
    return network_end(s) + exposed(s.down, std::max(Seconds(), s.host - s.network));
  }

  /// Adds the stalls: for messages, for the slowest rank's work above the mean, and the rest of the step (bubble).
  static Spent with_waiting(Spent all, Seconds step, Seconds more, StepParts& parts) {
    Seconds waiting = step - all.total();
    const auto book = [&](Part p, Seconds s) {
      s = std::clamp(s, Seconds(), std::max(waiting, Seconds()));
      all[p] += s;
      waiting = waiting - s;
    };
    parts.left_for_pp = waiting;
    book(Part::pp, parts.pipelined - parts.unsent);
    parts.left_for_imbalance = waiting;
    book(Part::imbalance, more);
    all[Part::bubble] = waiting;
    return all;
  }

  const ChunkSpan& span(Count rank, Count local, const Makespan& m) const {
    return m.chunks[static_cast<std::size_t>(chunk_index(pipeline_, {rank, local}))];
  }
  Seconds last_backward(Count rank, const Makespan& m) const {
    Seconds last;
    for_each_chunk(rank, [&](Count, Count i) { last = std::max(last, span(rank, i, m).last); });
    return last;
  }
  /// Seconds that a rank waits for gathered weights before its first forward. If all ranks begin together, the wait
  /// counts only if no other input arrives later.
  Seconds gather_wait(Count rank, const Makespan& m) const {
    if (!alone()) return first_wait(rank, m);
    Seconds first = span(rank, 0, m).first;
    for_each_chunk(rank, [&](Count, Count i) { first = std::min(first, span(rank, i, m).first); });
    return first - begin_of_step(rank, m);
  }
  Seconds first_wait(Count rank, const Makespan& m) const {
    ChunkSpan first = span(rank, 0, m);
    Seconds ready;
    for_each_chunk(rank, [&](Count q, Count i) {
      if (span(rank, i, m).first > first.first) return;
      first = span(rank, i, m);
      ready = room_.ready[static_cast<std::size_t>(q)];
    });
    return ready >= first.first ? ready : Seconds();
  }

  const Prices& prices_;
  bool offloads_;
  const Layout& layout_;
  const Cluster& cluster_;
  const Partition& partition_;
  const RowTimes& rows_;
  Efficiency efficiency_;
  StepWorkspace::Chunks& room_;
  Pipeline pipeline_;
  RankEnd end_;
};

}  // namespace llmcalc
