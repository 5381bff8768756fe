#pragma once
/// Distribution of a model's layers over the chunks of a pipeline.

#include <span>

#include "calc/layout.hpp"
#include "calc/pipeline/chunk.hpp"
#include "calc/pipeline/schedule.hpp"
#include "calc/step/row_time.hpp"

namespace llmcalc {

/// The chunks of a model in order. The embedding is in the first chunk, the head in the last.
class Partition {
 public:
  Partition() = default;
  /// Ends a chunk after `layer` layers.
  void end_at(Count layer) { ends_.push(static_cast<std::uint16_t>(layer)); }
  Count size() const { return static_cast<Count>(ends_.size()); }
  friend bool operator==(const Partition& a, const Partition& b) { return a.ends_ == b.ends_; }
  ModelChunk operator[](Count i) const {
    const auto end = [&](Count c) { return c < 0 ? Count{0} : Count{ends_[static_cast<std::size_t>(c)]}; };
    return {end(i - 1), end(i), i == 0, i + 1 == size()};
  }

 private:
  InplaceVector<std::uint16_t, max_layers> ends_;
};

/// Costs of the embedding, a layer of each kind, and the head with all MTP modules, in any unit: seconds or FLOPs.
struct RowCosts {
  double embedding = 0, head = 0;
  std::array<double, most_kinds> layer{};
  /// Additional cost of a layer of each kind if it is recomputed, as the first `first_recomputed` layers of each
  /// chunk are.
  std::array<double, most_kinds> recomputed{};
  Count first_recomputed = 0;
};
/// Row costs in seconds: forward plus backward of a micro-batch. In paired slots (DualPipe) expert collectives overlap
/// with other work, as in paired_seconds().
RowCosts row_costs(const RowTimes& times, const LayerKinds& kinds);
/// Row costs in seconds, including a chunk's stalls under ZeRO-3 for the weights and gradients of its layers,
/// embedding and head: the amount by which each row increases chunk_seconds(). Excludes messages between stages,
/// which stall all chunks equally.
RowCosts row_costs(const Prices& prices, const RowTimes& times, const Layout& layout, Count micro_batches);
/// Row costs in FLOPs, for use without hardware.
RowCosts row_costs(const Prices& prices);
/// Whether chunks wait for weights in every micro-batch.
bool waits_for_weights(const Layout& layout);

/// Distributes layers to minimize the work of the slowest rank; a rank of DualPipe has one chunk of each direction.
/// One kind of layer: layers go one by one to the rank with the least work including the new layer, and each rank
/// distributes its layers to keep its longest chunk short. No other distribution has a faster slowest rank, except
/// with recomputed blocks, which a rank distributes evenly. Several kinds, one chunk per rank: the cost of the largest
/// chunk is minimal; among equal distributions, every chunk is as close as possible to an equal share of the rest.
/// Several kinds, several chunks per rank: layers are dealt as if they were equal, the error of a rank's load is added
/// to the load, and the deal is repeated a few times. Of these distributions and the one that minimizes the longest
/// chunk, the
/// best by slowest rank and longest chunks is used. Every chunk gets at least one layer. Precondition: no more chunks
/// than layers, no flaw.
Partition balanced(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline);

/// The partition with the specified number of layers in each chunk, in model order.
Partition stated(std::span<const Count> layers);

}  // namespace llmcalc
