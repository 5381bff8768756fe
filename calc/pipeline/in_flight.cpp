#include "calc/pipeline/in_flight.hpp"

#include <algorithm>
#include <cassert>

namespace llmcalc {
namespace {

/// Tracks a rank's memory slot by slot and records the maximum.
class SavedTally {
 public:
  SavedTally(const Pipeline& p, std::span<const ChunkSaved> saved, std::span<SavedCount> counts)
      : saved_(saved.first(static_cast<std::size_t>(p.chunks))) {
    const std::size_t chunks = saved_.size();
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
    const ChunkSaved& k = saved_[static_cast<std::size_t>(chunk)];
    bytes_ += activations * k.activations + for_weights * k.for_weights;
  }
  const SavedCount& now(Count chunk) const { return now_[static_cast<std::size_t>(chunk)]; }
  Bytes most() const { return most_; }

 private:
  /// The largest `rest` among the chunks in progress.
  Bytes rest() const {
    Bytes most;
    for (std::size_t c = 0; c < saved_.size(); ++c)
      if (now_[c].activations > 0) most = std::max(most, saved_[c].rest);
    return most;
  }

  std::span<const ChunkSaved> saved_;
  std::span<SavedCount> peak_, now_;
  Bytes bytes_{}, most_{};
};

void repeat(SavedTally& tally, PlainOrderCursor& at, Count repetitions) {
  const std::int32_t size = at.run().size;
  for (Count i = 0; i < repetitions * size; ++i) {
    tally.slot(at.kind(), at.chunk(), at.backward_chunk());
    at.advance();
  }
}

/// Every unit of a run changes the counts by the same amounts. If these are activations of one chunk, the peak is in
/// the first or the last unit; otherwise, a chunk can start or finish while saved bytes grow.
void tally_run(SavedTally& tally, PlainOrderCursor& at, const Pipeline& p) {
  const Count times = at.run().times;
  if (times <= 2) return repeat(tally, at, times);
  const auto second = static_cast<Count>(p.chunks > 1);
  const std::array before{tally.now(0), tally.now(second)};
  repeat(tally, at, 1);
  const std::array after{tally.now(0), tally.now(second)};
  const bool changes = after != before;
  if (changes && (p.chunks > 1 || after[0].for_weights != before[0].for_weights)) return repeat(tally, at, times - 1);
  const Count units = times - 2;
  at.skip(units);
  if (changes) tally.jump(0, units * (after[0].activations - before[0].activations), 0);
  repeat(tally, at, 1);
}

/// Peak of an order for which alternates() holds. The peak is right after a forward, once the rank runs as far ahead
/// as its order permits. The counts repeat after P micro-batches of every chunk.
void tally_alternating(SavedTally& tally, const Pipeline& p, Count rank) {
  const Count slots = mul(p.micro_batches, p.chunks), ahead = forwards_ahead(p, rank);
  const Count rounds = std::min(slots - ahead, mul(p.ranks, p.chunks));
  ChunkTurns forward(p, true), backward(p, false);
  for (Count left = ahead; left > 0;) {
    const Count chunk = forward.chunk(), n = forward.pass(left);
    left -= n;
    left > 0 ? tally.jump(chunk, n, 0) : tally.change(chunk, n, 0);
  }
  for (Count i = 0; i < rounds; ++i) {
    const Count added = forward.chunk(), freed = backward.chunk();
    forward.pass(1);
    backward.pass(1);
    tally.change(added, 1, 0);
    tally.jump(freed, -1, 0);
  }
}

}  // namespace

Bytes most_saved(const Pipeline& p, Count rank, std::span<const ChunkSaved> saved, std::span<SavedCount> counts) {
  SavedTally tally(p, saved, counts);
  if (alternates(p.schedule)) {
    tally_alternating(tally, p, rank);
    return tally.most();
  }
  const RankOrder order = rank_order(p, rank);
  for (PlainOrderCursor at(order); !at.done();) tally_run(tally, at, p);
  return tally.most();
}

Bytes most_saved(const Pipeline& p, std::span<const Slot> slots, std::span<const ChunkSaved> saved,
                 std::span<SavedCount> counts) {
  SavedTally tally(p, saved, counts);
  for (const Slot& s : slots) tally.slot(s.kind, s.chunk, gradient_chunk(s));
  return tally.most();
}

}  // namespace llmcalc
