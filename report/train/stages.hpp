#pragma once
/// Rows and notes about the stages of a pipeline, and JSON of the layout.

#include "ask/answer/stages.hpp"
#include "ask/answer/training.hpp"
#include "ask/request/request.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Adds one row per stage (layers, micro-batches in flight, memory; in text only with --stages), and the split of
/// layers over the chunks.
void add_stages(const TrainingAnswer& a, Report& report);

/// Sections that explanations refer to: the layout, and the fullest stage of a pipeline.
Section layout_section(const Request& r);
Section fullest_stage_section(const TrainingAnswer& a);

/// The full layout: gpus, every degree, schedule, micro-batches, number of layers in each chunk.
json::Value layout_json(const Request& r);

}  // namespace llmcalc
