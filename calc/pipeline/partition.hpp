#pragma once
/// How the layers of a model are spread over the chunks of a pipeline.

#include <span>

#include "calc/layout.hpp"
#include "calc/pipeline/chunk.hpp"
#include "calc/pipeline/schedule.hpp"
#include "calc/step/row_time.hpp"

namespace llmcalc {

/// The chunks of a model in order. The embedding is in the first, the head in the last.
class Partition {
 public:
  Partition() = default;
  /// Ends a chunk behind a number of layers.
  void end_at(Count layer) { ends_.push(static_cast<std::uint16_t>(layer)); }
  Count size() const { return static_cast<Count>(ends_.size()); }
  friend bool operator==(const Partition& a, const Partition& b) { return a.ends_ == b.ends_; }
  ModelChunk operator[](Count i) const {
    const auto end = [&](Count c) { return c < 0 ? Count{0} : Count{ends_[static_cast<std::size_t>(c)]}; };
    return {end(i - 1), end(i), i == 0, i + 1 == size()};
  }

 private:
  InPlace<std::uint16_t, max_layers> ends_;
};

/// What the embedding, a layer of each kind, and the head with all modules behind it cost, in any unit: seconds, or
/// FLOPs.
struct RowCosts {
  double embedding = 0, head = 0;
  std::array<double, most_kinds> layer{};
  /// The extra cost of a layer of each kind if it is among the first `first_again` of its chunk, which run again.
  std::array<double, most_kinds> again{};
  Count first_again = 0;
};
/// Seconds of forward and backward of a micro-batch, in all.
/// In paired slots (DualPipe) exchanges with experts overlap other work, as paired_seconds() describes.
RowCosts row_costs(const RowTimes& times, const LayerKinds& kinds);
/// The same, and what a chunk waits under ZeRO 3 for weights and gradients of its layers, its embedding and its head:
/// the difference that each makes to chunk_seconds(). Left out: messages between stages, which all chunks wait for
/// alike.
RowCosts row_costs(const Prices& prices, const RowTimes& times, const Layout& layout, Count micro_batches);
/// FLOPs, where no hardware is given.
RowCosts row_costs(const Prices& prices);
/// Whether chunks wait for weights in every micro-batch.
bool waits_for_weights(const Layout& layout);

/// Spreads layers so that the slowest rank is as fast as possible; a rank of DualPipe has a chunk of both directions.
/// Layers of one kind go one by one to the rank that has the least to do with it, and a rank's are shared out so that
/// its longest chunk is short; no other way has a faster slowest rank, but for blocks that run again, which a rank
/// shares out evenly. Layers of several kinds, one chunk per rank: the smallest possible maximum over all ways to cut
/// the list of layers, and among those with it, every chunk as near as possible to an equal share of what is left.
/// Several kinds and chunks: layers are dealt as if they were equal; what a rank's own cost more or less than that is
/// added to its load, and all are dealt again, a few times. Of these ways, and of the one with the shortest longest
/// chunk, the best by slowest rank and longest chunks is kept. Every chunk gets a layer.
/// Precondition: no more chunks than layers, no flaw.
Partition balanced(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline);

/// Layers as stated, chunk by chunk in the order of the model.
Partition stated(std::span<const Count> layers);

}  // namespace llmcalc
