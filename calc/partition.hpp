#pragma once
/// How the layers of a model are spread over the chunks of a pipeline.

#include <span>

#include "calc/chunk.hpp"
#include "calc/pipeline/schedule.hpp"
#include "calc/row_time.hpp"

namespace llmcalc {

/// The chunks of a model in order. The embedding is in the first, the head in the last.
class Partition {
 public:
  Partition() = default;
  /// Ends a chunk behind a number of layers.
  void end_at(Count layer) { ends_.push(static_cast<std::uint16_t>(layer)); }
  Count size() const { return static_cast<Count>(ends_.size()); }
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
};
/// Seconds of forward and backward.
RowCosts row_costs(const RowTimes& times, const LayerKinds& kinds);
/// FLOPs, where no hardware is given.
RowCosts row_costs(const Prices& prices);

/// Spreads layers so that the slowest rank is as fast as possible. One chunk per rank: the smallest possible maximum
/// over all ways to cut the list of layers, and among those with it, every chunk as near as possible to an equal share
/// of what is left. Several: layers, taken as equal, go one by one to the rank with the least to do, and a rank's are
/// shared out evenly over its chunks. Every chunk gets a layer. Precondition: no more chunks than layers, no flaw.
Partition balanced(const LayerKinds& kinds, const RowCosts& costs, const Pipeline& pipeline);

/// Layers as stated, chunk by chunk in the order of the model.
Partition stated(std::span<const Count> layers);

}  // namespace llmcalc
