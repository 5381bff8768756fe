#pragma once
/// Throughput, utilization and limits of an optimizer step.

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "ask/request/request.hpp"
#include "calc/roofline.hpp"
#include "calc/train.hpp"

namespace llmcalc {

/// Seconds of a step that a part takes.
struct PartTime {
  Part part = Part::matmul;
  Seconds time{};
};

/// Seconds of a step that a resource limits.
struct LimitTime {
  std::string_view name;
  Seconds time{};
};

/// MFU under a convention.
struct Utilization {
  std::string_view key, formula;
  double mfu = 0;
};

struct StepFigures {
  Count gpus = 1;
  double tokens_per_s = 0;             ///< of all GPUs, as is all else
  double mfu = 0, hfu = 0;             ///< of the peak of the plan's precision
  std::optional<double> causal_mfu{};  ///< counting causal pairs alone; where mfu is above 1
  std::array<LimitTime, 4> limits{};   ///< by compute, memory, communication, latency; they add up to the step
  LimitTime bound{};                   ///< the largest of them
  std::vector<PartTime> parts{};       ///< those that the layout can have; they add up to the step
};

/// Of a request with hardware.
StepFigures step_figures(const Request& r, const TrainEstimate& e);
/// MFU by every convention.
std::vector<Utilization> utilization_by_convention(const Request& r, const TrainEstimate& e);

}  // namespace llmcalc
