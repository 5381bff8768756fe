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
};
Stages stages_of(const Request& r);

/// Adds one row per stage (layers, micro-batches in flight, memory; as text only with --stages), and how layers are
/// spread over the chunks.
void add_stages(const Request& r, Report& report);

/// The layout in full: gpus, every degree, schedule, micro-batches, layers of the chunks.
json::Value layout_json(const Request& r);

}  // namespace llmcalc
