#include "calc/pipeline/in_flight.hpp"

#include <algorithm>
#include <cassert>

namespace llmcalc {
namespace {

/// Counts what a rank keeps, slot by slot, and remembers the most.
class KeptTally {
 public:
  KeptTally(const Pipeline& p, Count rank, std::span<const ChunkKept> kept, std::span<KeptCount> counts)
      : p_(p), rank_(rank), kept_(kept) {
    const auto chunks = static_cast<std::size_t>(p.chunks);
    assert(counts.size() >= 2 * chunks);
    std::fill(counts.begin(), counts.end(), KeptCount{});
    peak_ = counts.first(chunks);
    now_ = counts.subspan(chunks, chunks);
  }
  void slot(SlotKind kind, Count chunk, Count gradients) {
    if (runs_forward(kind)) change(chunk, 1, 0);
    if (runs_backward(kind)) change(gradients, -1, runs_weights(kind) ? 0 : 1);
    if (kind == SlotKind::backward_weight) change(gradients, 0, -1);
  }
  void change(Count chunk, Count activations, Count for_weights) {
    jump(chunk, activations, for_weights);
    if (bytes_ <= most_) return;
    most_ = bytes_;
    std::copy(now_.begin(), now_.end(), peak_.begin());
  }
  /// A change whose way there is not looked at.
  void jump(Count chunk, Count activations, Count for_weights) {
    KeptCount& n = now_[static_cast<std::size_t>(chunk)];
    n.activations += activations;
    n.for_weights += for_weights;
    const ChunkKept& k = kept_[static_cast<std::size_t>(model_chunk(p_, rank_, chunk))];
    bytes_ += activations * k.activations + for_weights * k.for_weights;
  }
  const KeptCount& now(Count chunk) const { return now_[static_cast<std::size_t>(chunk)]; }
  Bytes most() const { return most_; }

 private:
  const Pipeline& p_;
  Count rank_;
  std::span<const ChunkKept> kept_;
  std::span<KeptCount> peak_, now_;
  Bytes bytes_{}, most_{};
};

/// Repetitions of a run after which the change of all counts is the same again, with the same chunks in the same order;
/// 0: none that is worth looking for. A steady round of an interleaved pipeline changes nothing.
Count equal_repetitions(const Pipeline& p, const OrderRun& run) {
  if (p.schedule != Schedule::interleaved) return 1;
  return run.rounds == 0 ? 0 : run.times / run.rounds;
}

void repeat(KeptTally& tally, OrderCursor& at, Count repetitions) {
  const std::int32_t size = at.run().size;
  for (Count i = 0; i < repetitions * size; ++i) {
    tally.slot(at.kind(), at.chunk(), at.backward_chunk());
    at.advance();
  }
}

/// A run of equal units changes the counts by the same in each, so that the most is kept in the first or in the last.
void tally_run(KeptTally& tally, OrderCursor& at, const Pipeline& p) {
  const Count step = equal_repetitions(p, at.run()), times = at.run().times;
  if (step == 0 || times <= 2 * step) return repeat(tally, at, times);
  std::array<KeptCount, 2> before{};
  for (std::size_t c = 0; c < 2 && c < static_cast<std::size_t>(p.chunks); ++c)
    before[c] = tally.now(static_cast<Count>(c));
  repeat(tally, at, step);
  const Count units = times / step - 2;
  at.skip(units * step);
  if (p.schedule != Schedule::interleaved)
    for (Count c = 0; c < p.chunks; ++c) {
      const KeptCount &from = before[static_cast<std::size_t>(c)], &to = tally.now(c);
      tally.jump(c, units * (to.activations - from.activations), units * (to.for_weights - from.for_weights));
    }
  repeat(tally, at, times - (units + 1) * step);
}

}  // namespace

Bytes most_kept(const Pipeline& p, Count rank, std::span<const ChunkKept> kept, std::span<KeptCount> counts) {
  const RankOrder order = rank_order(p, rank);
  KeptTally tally(p, rank, kept, counts);
  for (OrderCursor at(order, p); !at.done();) tally_run(tally, at, p);
  return tally.most();
}

Bytes most_kept(const Pipeline& p, Count rank, std::span<const Slot> slots, std::span<const ChunkKept> kept,
                std::span<KeptCount> counts) {
  KeptTally tally(p, rank, kept, counts);
  for (const Slot& s : slots) tally.slot(s.kind, s.chunk, gradient_chunk(s));
  return tally.most();
}

}  // namespace llmcalc
