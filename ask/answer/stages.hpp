#pragma once
/// The stages of a training plan: memory of every rank of its pipeline.

#include <vector>

#include "ask/request/request.hpp"
#include "calc/train.hpp"

namespace llmcalc {

struct Stages {
  Partition partition;
  std::vector<Stage> stages;  ///< one per pipeline rank
  const Stage& fullest() const;
  Bytes most_on_host() const;  ///< of a GPU, of the stage that has most there
};
Stages stages_of(const Request& r);
/// The layout with the layers of every chunk stated as they are now, so that other hardware does not spread them in
/// another way. Without a pipeline, and with more chunks than can be stated, as it is.
Layout with_stated_layers(const Request& r);

/// How layers are spread over the chunks.
Partition partition_of(const Request& r);

}  // namespace llmcalc
