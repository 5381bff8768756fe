#pragma once
/// The chunks of a pipeline as a search sees them: which are alike, and which ranks can be the fullest.

#include <map>
#include <memory>
#include <vector>

#include "calc/memory.hpp"
#include "calc/pipeline/makespan.hpp"
#include "calc/pipeline/partition.hpp"

namespace llmcalc {

/// What a rank keeps of its chunks at some moment, by class of chunk.
struct KeptOfClass {
  Count chunk_class = 0, activations = 0, for_weights = 0;
  constexpr bool operator==(const KeptOfClass&) const = default;
};
using KeptMoment = std::vector<KeptOfClass>;

/// A rank that can be the fullest under some sizes of chunks, and its moments that can be the worst, in order: none of
/// them keeps as much of everything as another.
struct RankKept {
  Count rank = 0;
  std::vector<KeptMoment> moments;
};

/// A partition, and what follows from it alone. Chunks of a class have the same kinds of layers in the same order, and
/// embedding and head alike.
class Staging {
 public:
  Staging(const LayerKinds& kinds, const Pipeline& p, const Partition& partition);
  const Partition& partition() const { return partition_; }
  std::span<const ModelChunk> classes() const { return classes_; }  ///< one chunk of each
  Count class_of(Count chunk) const { return class_of_[static_cast<std::size_t>(chunk)]; }
  const HeldRows& held(Count rank) const { return held_[static_cast<std::size_t>(rank)]; }
  /// Ranks none of which holds the same rows as another; and which of them a rank is like.
  std::span<const Count> kinds_of_ranks() const { return distinct_; }
  std::size_t kind_of_rank(Count rank) const { return kind_of_[static_cast<std::size_t>(rank)]; }
  /// The ranks that can be the fullest. `p` as the staging was made for, but for its schedule and micro-batches.
  const std::vector<RankKept>& kept(const Pipeline& p);

 private:
  bool same_chunks(const Pipeline& p, Count a, Count b) const;
  std::vector<RankKept> find_kept(const Pipeline& p) const;

  Partition partition_;
  std::vector<ModelChunk> classes_;
  std::vector<Count> class_of_;
  std::vector<HeldRows> held_;
  std::vector<Count> distinct_;
  std::vector<std::size_t> kind_of_;
  std::map<std::pair<Schedule, Count>, std::vector<RankKept>> kept_;  // by schedule and micro-batches
};

/// Stagings that were met, each made once.
class Stagings {
 public:
  Staging& of(const LayerKinds& kinds, const Pipeline& p, const Partition& partition);

 private:
  using Key = std::vector<std::uint16_t>;
  Key key_;  // lent to of()
  std::map<Key, std::unique_ptr<Staging>> stagings_;
};

}  // namespace llmcalc
