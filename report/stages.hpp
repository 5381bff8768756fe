#pragma once
/// The stages of a training plan: what every rank of its pipeline holds.

#include <vector>

#include "calc/train.hpp"
#include "report/report.hpp"
#include "report/request.hpp"

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

/// Adds one row per stage (layers, micro-batches in flight, memory; as text only with --stages), and how layers are
/// spread over the chunks.
void add_stages(const Request& r, Report& report);

/// Numbers of the layout, and of the fullest stage of a pipeline, which explanations are of.
Section layout_section(const Request& r);
Section fullest_stage_section(const Request& r);

/// The layout in full: gpus, every degree, schedule, micro-batches, layers of the chunks.
json::Value layout_json(const Request& r);

}  // namespace llmcalc
