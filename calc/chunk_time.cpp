#include "calc/chunk_time.hpp"

#include <algorithm>

#include "calc/pipeline/schedule.hpp"

namespace llmcalc {
namespace {

/// A layer's seconds of computing gradients, of summing them, and of their way to the host.
struct Beat {
  double compute = 0, reduce = 0, down = 0;
};

class ChunkClock {
 public:
  /// `apart`: without exchanges with experts.
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
  double gather() const {
    return sum([](const RowTime& t) { return t.gather.value; });
  }

  /// Two things side by side.
  double beside(double a, double b) const { return llmcalc::beside(Seconds(a), Seconds(b), hidden_).value; }

  /// Forward, each layer's weights gathered while the one before it runs. `head_too`: the head's likewise; else they
  /// come with the embedding's.
  double gathered_forward(bool head_too) const {
    double all = outside(&RowTime::gather, chunk_.embedding, chunk_.head && !head_too);
    double running = chunk_.embedding ? in(times_.embedding().forward) : 0;
    times_.for_each_run_of(prices_.kinds, chunk_, [&](const RowTime& t, Count n) {
      const double c = in(t.forward), g = t.gather.value;
      all += beside(running, g) + static_cast<double>(n - 1) * beside(c, g);
      running = c;
    });
    if (!chunk_.head) return all + running;
    const double head = in(times_.head().forward);
    return all + head + (head_too ? beside(running, times_.head().gather.value) : running) + gathered_modules(head);
  }

  /// Backward of ZeRO-3, from the head down: beside a layer the weights of the one below come and the gradients of the
  /// one above go.
  double sharded_backward(bool gathers) const {
    const auto gather = [&](const RowTime* below) { return gathers && below != nullptr ? below->gather.value : 0; };
    const auto reduce = [](const RowTime* above) { return above != nullptr ? above->reduce.value : 0; };
    double all = 0;
    const RowTime *below = nullptr, *here = nullptr;  // layers below `here` are done
    Count run = 0;
    const auto finish = [&](const RowTime* above) {
      if (here == nullptr) return;
      const double c = backward(*here);
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
    const double head = chunk_.head ? backward(times_.head()) : 0;
    const double embedding = chunk_.embedding ? backward(times_.embedding()) : 0;
    const double reduced = chunk_.head ? module_reduced() : 0;
    return all + sharded_modules(gathers) + beside(head, gather(here) + reduced) + beside(embedding, reduce(lowest)) +
           outside(&RowTime::reduce, chunk_.embedding, chunk_.head);
  }

  /// Seconds from the last backward's end until all gradients are summed, each layer's from when it is ready, one after
  /// another. Layers are seen from the embedding on, which runs last. `apart`: the last slot computes gradients of
  /// weights only.
  double reducing(bool apart) const {
    const Tail t = tail<Tail>(apart);
    return t.end - t.compute;
  }

  /// The gradients' way to the host, likewise.
  void put_landing(bool apart, ChunkSeconds& s) const {
    const LandingTail t = tail<LandingTail>(apart);
    s.landing = Seconds(t.landed - t.compute);
    s.passing = Seconds(t.passed);
    s.down = Seconds(t.down);
  }

 private:
  struct Tail {
    double compute = 0, reduce = 0, end = 0;  ///< of the layers seen: their seconds, and until all is done
    /// n layers alike that run before those seen.
    void precede(Count n, const Beat& b) {
      const double m = static_cast<double>(n), c = m * b.compute, r = m * b.reduce;
      end = std::max({c + end, b.compute + r + reduce, c + b.reduce + reduce});
      compute += c;
      reduce += r;
    }
  };
  /// Three machines in a row: layers pass one after another, so that a longest path turns at a run's ends.
  struct LandingTail {
    double compute = 0, down = 0;
    double passed = 0,
           landed = 0;  ///< until all of the layers seen are on the host: from their reduction, from compute
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
  double backward(const RowTime& t) const { return in(t.backward_input) + in(t.backward_weight); }

  template <typename F>
  double of_module(const F& f) const {
    double all = 0;
    for (const RowTime& part : times_.mtp()) all += f(part);
    return all;
  }
  double module_gathered() const {
    return of_module([](const RowTime& t) { return t.gather.value; });
  }
  double module_reduced() const {
    return of_module([](const RowTime& t) { return t.reduce.value; });
  }
  /// Seconds that the modules add to a forward in which each one's weights are gathered while what is before it runs:
  /// the head, before the first.
  double gathered_modules(double head) const {
    if (times_.modules == 0) return 0;
    const double c = of_module([&](const RowTime&t) { return in(t.forward); }), g = module_gathered();
    return beside(head, g) - head + static_cast<double>(times_.modules - 1) * beside(c, g) + c;
  }
  /// The modules' backward under ZeRO-3, from the last down to the first, whose gradients go beside the head's.
  double sharded_modules(bool gathers) const {
    if (!chunk_.head || times_.modules == 0) return 0;
    const double c = of_module([&](const RowTime& t) { return backward(t); });
    const double g = gathers ? module_gathered() : 0, r = module_reduced();
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
  double outside(Seconds RowTime::*part, bool embedding, bool head) const {
    return (embedding ? (times_.embedding().*part).value : 0) + (head ? (times_.head().*part).value : 0);
  }

  const Prices& prices_;
  const RowTimes& times_;
  const ModelChunk& chunk_;
  double hidden_;
  bool apart_;
};

ChunkSeconds seconds_of(const ChunkClock& clock, const ChunkClock& overlapping, const Layout& layout,
                        Count micro_batches, bool lands = false) {
  const double forward = clock.forward(), input = clock.input(), weight = clock.weight();
  ChunkSeconds s;
  s.forward = Seconds(forward);
  s.backward_input = Seconds(input);
  s.backward_weight = Seconds(weight);
  const bool apart = ranks(layout, Group::pipeline) > 1 && splits_backward(layout.schedule);
  if (lands) clock.put_landing(apart, s);
  if (ranks(layout, Group::data) == 1 && ranks(layout, Group::expert_data) == 1) return s;
  if (layout.zero == Zero::weights) {
    s.forward = Seconds(clock.gathered_forward(false));
    s.backward_input = Seconds(clock.sharded_backward(layout.reshard) - weight);
    s.waiting = std::max(Seconds(), s.forward + s.backward_input - Seconds(forward + input));
    return s;
  }
  s.reduction = Seconds(clock.reduction());
  s.reducing = Seconds(clock.reducing(apart));
  if (layout.zero != Zero::none) {
    s.gathering = Seconds(overlapping.gathered_forward(true) - forward);
    s.gather = Seconds(clock.gather());
  }
  if (layout.zero == Zero::gradients) {  // the last micro-batch's pass after its end
    const double work = forward + input + weight, m = static_cast<double>(micro_batches);
    s.waiting = Seconds((m - 1) / m * (clock.beside(work, s.reduction.value) - work));
    s.backward_input += s.waiting;
  }
  return s;
}

}  // namespace

ChunkSeconds chunk_seconds(const Prices& prices, const RowTimes& times, const Layout& layout, const ModelChunk& chunk,
                           Count micro_batches) {
  const ChunkClock clock(prices, times, chunk, times.hidden), overlapping(prices, times, chunk, 1);
  ChunkSeconds s = seconds_of(clock, overlapping, layout, micro_batches, times.lands);
  s.sending = layout.chunks > 1 ? times.send_of_chunks : times.send;
  s.forward += s.sending;
  s.backward_input += s.sending;
  if (!pairs_experts(layout)) return s;
  const ChunkClock apart(prices, times, chunk, times.hidden, true);
  const ChunkSeconds alone = seconds_of(apart, overlapping, layout, micro_batches);
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

ChunkTime chunk_time(std::span<const ChunkSeconds> chunks, Count q, Schedule schedule, double hidden) {
  const auto i = static_cast<std::size_t>(q);
  const ChunkSeconds& s = chunks[i];
  ChunkTime t{.forward = s.forward, .backward_input = s.backward_input, .backward_weight = s.backward_weight};
  if (has_pairs(schedule)) t.paired = paired_seconds(s, chunks[chunks.size() - 1 - i], hidden);
  return t;
}

}  // namespace llmcalc
