#pragma once
/// Memory of one device by part, and as a bar against the capacity.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/answer/inference.hpp"
#include "ask/answer/serving/serving.hpp"
#include "ask/answer/training.hpp"

namespace llmcalc {

using MemoryParts = std::vector<std::pair<std::string, Bytes>>;

struct MemoryBar {
  std::string label;
  MemoryParts parts{};  ///< may sum to more than `used` if not all are live at once
  Bytes used{};
  Bytes capacity{};  ///< 0: unknown
};

/// Labels and bytes of all parts.
MemoryParts training_parts(const Memory& m);
MemoryParts inference_parts(const Memory& m);

/// The fullest stage: the process if it is estimated, else the tensors. `about` precedes the label: "training memory".
MemoryBar memory_bar(const TrainingAnswer& a, std::string_view about = "");
/// The plan's batch on one engine.
MemoryBar memory_bar(const InferenceAnswer& a, std::string_view about = "");
/// A server with its whole cache, on a device of this capacity.
MemoryBar memory_bar(const ServingEngine& e, Bytes capacity);

}  // namespace llmcalc
