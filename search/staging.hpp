#pragma once
/// The chunks of a pipeline in a search: classes of equal chunks, and the ranks that may be the fullest.

#include <map>
#include <memory>
#include <vector>

#include "calc/memory.hpp"
#include "calc/pipeline/makespan.hpp"
#include "calc/pipeline/partition.hpp"

namespace llmcalc {

/// Number of micro-batches in chunks of one class that a rank holds at one point in time: with activations, and with
/// only the tensors for weight gradients.
struct SavedOfClass {
  Count chunk_class = 0, activations = 0, for_weights = 0;
  constexpr bool operator==(const SavedOfClass&) const = default;
};
using SavedMoment = std::vector<SavedOfClass>;

/// A rank that may be the fullest for some chunk sizes, and the moments at which it may peak, in order. No moment holds
/// at least as many chunks of every class as another.
struct RankSaved {
  Count rank = 0;
  std::vector<SavedMoment> moments;
};

/// A partition, and the results that depend only on it. Chunks of a class have the same layer kinds in the same
/// order, and all or none of them have the embedding; likewise the head.
class Staging {
 public:
  Staging(const LayerKinds& kinds, const Pipeline& p, const Partition& partition);
  const Partition& partition() const { return partition_; }
  std::span<const ModelChunk> classes() const { return classes_; }  ///< one chunk of each class
  Count class_of(Count chunk) const { return class_of_[static_cast<std::size_t>(chunk)]; }
  const HeldRows& held(Count rank) const { return held_[static_cast<std::size_t>(rank)]; }
  /// One rank for each distinct set of rows; kind_of_rank() is the index of a rank's set in this list.
  std::span<const Count> kinds_of_ranks() const { return distinct_; }
  std::size_t kind_of_rank(Count rank) const { return kind_of_[static_cast<std::size_t>(rank)]; }
  /// The ranks that may be the fullest. `p` must equal the constructor's pipeline except in schedule and number of
  /// micro-batches.
  const std::vector<RankSaved>& saved(const Pipeline& p);

 private:
  bool same_chunks(const Pipeline& p, Count a, Count b) const;
  std::vector<RankSaved> find_saved(const Pipeline& p) const;

  Partition partition_;
  std::vector<ModelChunk> classes_;
  std::vector<Count> class_of_;
  std::vector<HeldRows> held_;
  std::vector<Count> distinct_;
  std::vector<std::size_t> kind_of_;
  std::map<std::pair<Schedule, Count>, std::vector<RankSaved>> saved_;  // results of saved(), by schedule and number of
                                                                        // micro-batches
};

/// Cache of stagings, each of which is built once.
class Stagings {
 public:
  Staging& of(const LayerKinds& kinds, const Pipeline& p, const Partition& partition);

 private:
  using Key = std::vector<std::uint16_t>;
  Key key_;  // reused by of() to avoid allocations
  std::map<Key, std::unique_ptr<Staging>> stagings_;
};

}  // namespace llmcalc
