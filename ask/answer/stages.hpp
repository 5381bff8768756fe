#pragma once
/// Stages of a training plan: per-rank memory of its pipeline.

#include <vector>

#include "ask/request/request.hpp"
#include "calc/train.hpp"

namespace llmcalc {

struct Stages {
  Partition partition;
  std::vector<Stage> stages;  ///< one per pipeline rank
  const Stage& fullest() const;
  Bytes most_on_host() const;  ///< host bytes per GPU, on the stage that has the most
};
Stages stages_of(const Request& r);
/// The layout with an explicit number of layers per chunk, so that other hardware does not change the split. Unchanged
/// without a pipeline, or with more chunks than StageLayers holds.
Layout with_stated_layers(const Request& r);

/// Partition of the layers into chunks.
Partition partition_of(const Request& r);

}  // namespace llmcalc
