#include "calc/pipeline/chunk_time.hpp"

#include <algorithm>

#include "calc/pipeline/schedule.hpp"

namespace llmcalc {
namespace {

/// Seconds that a layer takes to compute its gradients, to reduce them, and to move them to host memory.
struct Beat {
  double compute = 0, reduce = 0, down = 0;
};

class ChunkClock {
 public:
  /// `apart`: whether to exclude expert collectives.
  ChunkClock(const Prices& prices, const RowTimes& times, const ModelChunk& chunk, double hidden, bool apart = false)
      : prices_(prices), times_(times), chunk_(chunk), hidden_(hidden), apart_(apart) {}

  double forward() const {
    return sum([&](const RowTime& t) { return in(t.forward); });
  }
  double input() const {
    return sum([&](const RowTime& t) { return in(t.backward_input); });
  }
  double weight() const {
    return sum([](const RowTime& t) { return t.backward_weight.total().value; });
  }
  double reduction() const {
    return sum([](const RowTime& t) { return t.reduce.value; });
  }
  double experts(Seconds RowTime::*part) const {
    return sum([&](const RowTime& t) { return (t.*part).value; });
  }
  /// Seconds of two overlapped tasks.
  double beside(double a, double b) const { return llmcalc::beside(Seconds(a), Seconds(b), hidden_).value; }

  /// Forward under ZeRO-3: each layer's weights are gathered while the previous layer runs.
  double gathered_forward() const {
    double all = outside(&RowTime::gather);
    double running = chunk_.embedding ? in(times_.embedding().forward) : 0;
    times_.for_each_run_of(prices_.kinds, chunk_, [&](const RowTime& t, Count n) {
      const double c = in(t.forward), g = t.gather.value;
      all += beside(running, g) + static_cast<double>(n - 1) * beside(c, g);
      running = c;
    });
    if (!chunk_.head) return all + running;
    const double head = in(times_.head().forward);
    return all + head + running + gathered_modules(head);
  }

  /// Sets the duration of the once-per-step gathers of ZeRO-1 and -2, which run in sequence, and the resulting delay
  /// of the first forward.
  void put_gathers(ChunkSeconds& s) const {
    Coming c;
    for_each_unit([&](Count n, double forward, double gather) { c.follow(n, forward, gather); });
    s.gathering = Seconds(c.delay);
    s.gather = Seconds(c.gathered);
  }

  /// Backward under ZeRO-3, from the head down: a layer overlaps with the gather of the layer below and the gradient
  /// reduction of the layer above. `seconds`: returns the seconds of a row's backward. `reduces`: whether this
  /// backward completes the gradients, which are then reduced.
  template <typename F>
  double sharded_backward(const F& seconds, bool gathers, bool reduces) const {
    const auto gather = [&](const RowTime* below) { return gathers && below != nullptr ? below->gather.value : 0; };
    const auto reduce = [&](const RowTime* above) { return reduces && above != nullptr ? above->reduce.value : 0; };
    double all = 0;
    const RowTime *below = nullptr, *here = nullptr;  // layers below `here` are done
    Count run = 0;
    const auto finish = [&](const RowTime* above) {
      if (here == nullptr) return;
      const double c = seconds(*here);
      const double inner = beside(c, gather(here) + reduce(here));
      if (run == 1) {
        all += beside(c, gather(below) + reduce(above));
        return;
      }
      all += beside(c, gather(below) + reduce(here)) + static_cast<double>(run - 2) * inner +
             beside(c, gather(here) + reduce(above));
    };
    const RowTime* lowest = nullptr;
    times_.for_each_run_of(prices_.kinds, chunk_, [&](const RowTime& row, Count n) {
      const RowTime* next = &row;
      finish(next);
      if (lowest == nullptr) lowest = next;
      below = here;
      here = next;
      run = n;
    });
    finish(nullptr);
    const double head = chunk_.head ? seconds(times_.head()) : 0;
    const double embedding = chunk_.embedding ? seconds(times_.embedding()) : 0;
    const double reduced = chunk_.head && reduces ? module_reduced() : 0;
    return all + sharded_modules(seconds, gathers, reduces) + beside(head, gather(here) + reduced) +
           beside(embedding, reduce(lowest)) + (reduces ? outside(&RowTime::reduce) : 0);
  }
  /// Sets the backward under ZeRO-3 as one slot or, if `apart`, as two slots.
  void put_sharded_backward(bool gathers, bool apart, ChunkSeconds& s) const {
    const auto input = [&](const RowTime& t) { return in(t.backward_input); };
    const auto weight = [&](const RowTime& t) { return in(t.backward_weight); };
    if (apart) {
      s.backward_input = Seconds(sharded_backward(input, gathers, false));
      s.backward_weight = Seconds(sharded_backward(weight, false, true));
      return;
    }
    const auto both = [&](const RowTime& t) { return input(t) + weight(t); };
    s.backward_input = Seconds(sharded_backward(both, gathers, true) - s.backward_weight.value);
  }

  /// Seconds from the end of the last backward until all gradients are reduced, layer by layer as their gradients
  /// become ready. Visits the layers from the embedding up, because the embedding's backward runs last. `apart`:
  /// whether the last slot has only weight gradients.
  double reducing(bool apart) const {
    const Tail t = tail<Tail>(apart);
    return t.end - t.compute;
  }

  /// Sets the seconds until all gradients are in host memory.
  void put_landing(bool apart, ChunkSeconds& s) const {
    const LandingTail t = tail<LandingTail>(apart);
    s.landing = Seconds(t.landed - t.compute);
    s.passing = Seconds(t.passed);
    s.down = Seconds(t.down);
  }

 private:
  /// Gathers in sequence, and the forwards that wait for them.
  struct Coming {
    double gathered = 0, ran = 0, delay = 0;
    /// Appends n equal units; either the first or the last of them waits longest.
    void follow(Count n, double forward, double gather) {
      const double m = static_cast<double>(n), all = gathered + m * gather;
      delay = std::max({delay, gathered + gather - ran, all - ran - (m - 1) * forward});
      gathered = all;
      ran += m * forward;
    }
  };
  /// Calls f(n, forward, gather) for n equal units: embedding, layers, head, MTP modules.
  template <typename F>
  void for_each_unit(const F& f) const {
    const auto of_row = [&](const RowTime& t, Count n) { f(n, in(t.forward), t.gather.value); };
    if (chunk_.embedding) of_row(times_.embedding(), 1);
    times_.for_each_run_of(prices_.kinds, chunk_, of_row);
    if (!chunk_.head) return;
    of_row(times_.head(), 1);
    if (times_.modules > 0) f(times_.modules, module_forward(), module_gathered());
  }
  struct Tail {
    double compute = 0, reduce = 0, end = 0;  ///< totals over the layers visited so far, and seconds until all of
                                              ///< their work is done
    /// Prepends n equal layers, which run before the layers visited so far.
    void precede(Count n, const Beat& b) {
      const double m = static_cast<double>(n), c = m * b.compute, r = m * b.reduce;
      end = std::max({c + end, b.compute + r + reduce, c + b.reduce + reduce});
      compute += c;
      reduce += r;
    }
  };
  /// Compute, reduction and transfer to the host as a flow shop with three machines, whose jobs are the layers in
  /// order. A longest path changes machines only at the ends of a run of equal layers.
  struct LandingTail {
    double compute = 0, down = 0;
    double passed = 0,
           landed = 0;  ///< seconds until the gradients of the layers visited so far are on the host, measured from the
                        ///< start of their reduction and of their computation
    void precede(Count n, const Beat& b) {
      const double m = static_cast<double>(n);
      const auto after = [&](double layers) {
        const double r = layers * b.reduce, d = layers * b.down;
        return std::max({r + passed, b.reduce + d + down, r + b.down + down});
      };
      const double all = after(m), last = after(1), c = m * b.compute;
      landed = std::max({c + landed, b.compute + all, c + last});
      passed = all;
      compute += c;
      down += m * b.down;
    }
  };
  template <typename T>
  T tail(bool apart) const {
    T t;
    const auto beat = [&](const RowTime& row) {
      return Beat{(apart ? row.backward_weight.total() : row.backward()).value, row.reduce.value, row.down.value};
    };
    if (chunk_.embedding) t.precede(1, beat(times_.embedding()));
    times_.for_each_run_of(prices_.kinds, chunk_, [&](const RowTime& row, Count n) { t.precede(n, beat(row)); });
    if (!chunk_.head) return t;
    t.precede(1, beat(times_.head()));
    if (times_.modules == 0) return t;
    Beat module;
    for (const RowTime& part : times_.mtp()) {
      const Beat b = beat(part);
      module = {module.compute + b.compute, module.reduce + b.reduce, module.down + b.down};
    }
    t.precede(times_.modules, module);
    return t;
  }

  double in(const Spent& s) const { return (apart_ ? s.total() - s[Part::ep] : s.total()).value; }

  template <typename F>
  double of_module(const F& f) const {
    double all = 0;
    for (const RowTime& part : times_.mtp()) all += f(part);
    return all;
  }
  double module_forward() const {
    return of_module([&](const RowTime& t) { return in(t.forward); });
  }
  double module_gathered() const {
    return of_module([](const RowTime& t) { return t.gather.value; });
  }
  double module_reduced() const {
    return of_module([](const RowTime& t) { return t.reduce.value; });
  }
  /// Seconds that the MTP modules add to a forward in which each module's weights are gathered while its predecessor
  /// runs; the first module's predecessor is the head.
  double gathered_modules(double head) const {
    if (times_.modules == 0) return 0;
    const double c = module_forward(), g = module_gathered();
    return beside(head, g) - head + static_cast<double>(times_.modules - 1) * beside(c, g) + c;
  }
  /// Backward of the MTP modules under ZeRO-3, from last to first; the gradients of the first module are reduced during
  /// the head's backward.
  template <typename F>
  double sharded_modules(const F& seconds, bool gathers, bool reduces) const {
    if (!chunk_.head || times_.modules == 0) return 0;
    const double c = of_module(seconds);
    const double g = gathers ? module_gathered() : 0, r = reduces ? module_reduced() : 0;
    if (times_.modules == 1) return g + c;
    return g + beside(c, g) + static_cast<double>(times_.modules - 2) * beside(c, g + r) + beside(c, r);
  }

  template <typename F>
  double sum(const F& f) const {
    double all = chunk_.embedding ? f(times_.embedding()) : 0;
    times_.for_each_kind(prices_.kinds, chunk_,
                         [&](const RowTime& row, Count n) { all += static_cast<double>(n) * f(row); });
    if (!chunk_.head) return all;
    all += f(times_.head());
    return times_.modules == 0 ? all : all + static_cast<double>(times_.modules) * of_module(f);
  }
  double outside(Seconds RowTime::*part) const {
    return (chunk_.embedding ? (times_.embedding().*part).value : 0) + (chunk_.head ? (times_.head().*part).value : 0);
  }

  const Prices& prices_;
  const RowTimes& times_;
  const ModelChunk& chunk_;
  double hidden_;
  bool apart_;
};

/// Adds the stalls from ZeRO-2 reductions that overlap with the next micro-batch. The last reduction causes no stall.
void wait_for_earlier(const ChunkClock& clock, Count micro_batches, ChunkSeconds& s) {
  const double m = static_cast<double>(micro_batches), share = (m - 1) / m;
  const double work = (s.forward + s.backward_input + s.backward_weight).value;
  s.waiting = Seconds(share * (clock.beside(work, s.reduction.value) - work));
  s.backward_input += s.waiting;
}

ChunkSeconds seconds_of(const ChunkClock& clock, const Layout& layout, Count micro_batches, bool lands = false) {
  ChunkSeconds s;
  s.forward = Seconds(clock.forward());
  s.backward_input = Seconds(clock.input());
  s.backward_weight = Seconds(clock.weight());
  const bool pipelined = ranks(layout, Group::pipeline) > 1, apart = pipelined && splits_backward(layout.schedule);
  if (lands) clock.put_landing(apart, s);
  if (!shares_parameters(layout)) return s;
  if (layout.zero == Zero::weights) {
    const Seconds work = s.forward + s.backward_input + s.backward_weight;
    s.forward = Seconds(clock.gathered_forward());
    clock.put_sharded_backward(layout.reshard, apart, s);
    s.waiting = std::max(Seconds(), s.forward + s.backward_input + s.backward_weight - work);
    return s;
  }
  s.reduction = Seconds(clock.reduction());
  s.reducing = Seconds(clock.reducing(apart));
  if (layout.zero != Zero::none) clock.put_gathers(s);
  if (layout.zero == Zero::gradients && !pipelined) wait_for_earlier(clock, micro_batches, s);
  return s;
}

}  // namespace

ChunkSeconds chunk_seconds(const Prices& prices, const RowTimes& times, const Layout& layout, const ModelChunk& chunk,
                           Count micro_batches) {
  const ChunkClock clock(prices, times, chunk, times.hidden);
  ChunkSeconds s = seconds_of(clock, layout, micro_batches, times.lands);
  s.sending = layout.chunks > 1 ? times.send_of_chunks : times.send;
  s.forward += s.sending;
  s.backward_input += s.sending;
  if (!pairs_experts(layout)) return s;
  const ChunkClock apart(prices, times, chunk, times.hidden, true);
  const ChunkSeconds alone = seconds_of(apart, layout, micro_batches);
  s.paired = {alone.forward, alone.backward_input + alone.backward_weight,
              Seconds(clock.experts(&RowTime::experts_forward)), Seconds(clock.experts(&RowTime::experts_backward))};
  return s;
}

Seconds paired_seconds(const ChunkSeconds& forward, const ChunkSeconds& backward, double hidden) {
  const PairedWork &f = forward.paired, &b = backward.paired;
  const Seconds experts = f.experts_forward + b.experts_backward;
  if (experts <= Seconds()) return {};
  const Seconds one_by_one = forward.forward + backward.backward_input + backward.backward_weight;
  return std::min(one_by_one, beside(f.forward + b.backward, experts, hidden));
}

ChunkTime chunk_time(const ChunkSeconds& chunk, const ChunkSeconds& other, Schedule schedule, double hidden) {
  return {.forward = chunk.forward,
          .backward_input = chunk.backward_input,
          .backward_weight = chunk.backward_weight,
          .paired = has_pairs(schedule) ? paired_seconds(chunk, other, hidden) : Seconds()};
}

}  // namespace llmcalc
