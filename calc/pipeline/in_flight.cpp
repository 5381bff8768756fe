#include "calc/pipeline/in_flight.hpp"

#include <algorithm>
#include <cassert>

namespace llmcalc {
namespace {

/// Tracks a rank's memory slot by slot and records the maximum.
class SavedTally {
 public:
  SavedTally(const Pipeline& p, Count rank, std::span<const ChunkSaved> saved, std::span<SavedCount> counts)
      : p_(p), rank_(rank), saved_(saved) {
    const auto chunks = static_cast<std::size_t>(p.chunks);
    assert(counts.size() >= 2 * chunks);
    std::fill(counts.begin(), counts.end(), SavedCount{});
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
    const Bytes all = bytes_ + rest();
    if (all <= most_) return;
    most_ = all;
    std::copy(now_.begin(), now_.end(), peak_.begin());
  }
  /// Applies a change without looking for a peak in between.
  void jump(Count chunk, Count activations, Count for_weights) {
    SavedCount& n = now_[static_cast<std::size_t>(chunk)];
    n.activations += activations;
    n.for_weights += for_weights;
    const ChunkSaved& k = saved_[static_cast<std::size_t>(model_chunk(p_, rank_, chunk))];
    bytes_ += activations * k.activations + for_weights * k.for_weights;
  }
  const SavedCount& now(Count chunk) const { return now_[static_cast<std::size_t>(chunk)]; }
  Bytes most() const { return most_; }

 private:
  /// The largest `rest` among the chunks in progress.
  Bytes rest() const {
    Bytes most;
    for (Count c = 0; c < p_.chunks; ++c)
      if (now(c).activations > 0)
        most = std::max(most, saved_[static_cast<std::size_t>(model_chunk(p_, rank_, c))].rest);
    return most;
  }

  const Pipeline& p_;
  Count rank_;
  std::span<const ChunkSaved> saved_;
  std::span<SavedCount> peak_, now_;
  Bytes bytes_{}, most_{};
};

/// Number of repetitions of a run after which the same chunks follow in the same order and all counts change by the
/// same amounts; 0 if the period is unknown. A steady round of an interleaved pipeline leaves the counts unchanged.
Count equal_repetitions(const Pipeline& p, const OrderRun& run) {
  if (p.schedule != Schedule::interleaved) return 1;
  return run.rounds == 0 ? 0 : run.times / run.rounds;
}

void repeat(SavedTally& tally, OrderCursor& at, Count repetitions) {
  const std::int32_t size = at.run().size;
  for (Count i = 0; i < repetitions * size; ++i) {
    tally.slot(at.kind(), at.chunk(), at.backward_chunk());
    at.advance();
  }
}

/// Tallies a run of units that all change the counts by the same amounts. If only the activations of one chunk
/// change, the peak is in the first or the last unit; otherwise, all units are tallied, because a chunk can start or
/// finish while saved bytes grow.
void tally_run(SavedTally& tally, OrderCursor& at, const Pipeline& p) {
  const Count step = equal_repetitions(p, at.run()), times = at.run().times;
  if (step == 0 || times <= 2 * step) return repeat(tally, at, times);
  const auto second = static_cast<Count>(p.chunks > 1);
  const std::array before{tally.now(0), tally.now(second)};
  repeat(tally, at, step);
  const std::array after{tally.now(0), tally.now(second)};
  const bool changes = p.schedule != Schedule::interleaved && after != before;
  if (changes && (p.chunks > 1 || after[0].for_weights != before[0].for_weights))
    return repeat(tally, at, times - step);
  const Count units = times / step - 2;
  at.skip(units * step);
  if (changes) tally.jump(0, units * (after[0].activations - before[0].activations), 0);
  repeat(tally, at, times - (units + 1) * step);
}

}  // namespace

Bytes most_saved(const Pipeline& p, Count rank, std::span<const ChunkSaved> saved, std::span<SavedCount> counts) {
  const RankOrder order = rank_order(p, rank);
  SavedTally tally(p, rank, saved, counts);
  for (OrderCursor at(order, p); !at.done();) tally_run(tally, at, p);
  return tally.most();
}

Bytes most_saved(const Pipeline& p, Count rank, std::span<const Slot> slots, std::span<const ChunkSaved> saved,
                 std::span<SavedCount> counts) {
  SavedTally tally(p, rank, saved, counts);
  for (const Slot& s : slots) tally.slot(s.kind, s.chunk, gradient_chunk(s));
  return tally.most();
}

}  // namespace llmcalc
