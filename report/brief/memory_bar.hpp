#pragma once
/// Memory of one device, by part and as a bar that shows it against the capacity.

#include <string_view>

#include "ask/answer/inference.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/training.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Labels and bytes of all parts.
MemoryParts training_parts(const Memory& m);
MemoryParts inference_parts(const Memory& m);

/// Bar of the fullest stage: its process if estimated, otherwise its tensors. `about` precedes the label: "training
/// memory".
MemoryBar memory_bar(const TrainingAnswer& a, std::string_view about = "");
/// Bar of the plan's batch on one engine.
MemoryBar memory_bar(const InferenceAnswer& a, std::string_view about = "");
/// Bar of a server with its whole cache, on a device of this capacity.
MemoryBar memory_bar(const ServingEngine& e, Bytes capacity);

}  // namespace llmcalc
