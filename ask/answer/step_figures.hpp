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

/// Seconds of a step spent in a part.
struct PartTime {
  Part part = Part::matmul;
  Seconds time{};
};

/// Seconds of a step limited by a resource.
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
  double tokens_per_s = 0;  ///< throughput of all GPUs; the other figures also cover all GPUs
  double mfu = 0, hfu = 0;  ///< model and hardware FLOPs utilization, relative to the peak at the plan's precision
  std::optional<double> causal_mfu{};  ///< MFU that counts only causal pairs; present if mfu > 1
  std::array<LimitTime, 4> limits{};   ///< step time limited by compute, memory, communication, latency; sums to the
                                       ///< step time
  LimitTime bound{};                   ///< largest of these limits
  std::vector<PartTime> parts{};       ///< parts possible under the layout; their times add up to the step time
};

/// Precondition: the request has hardware.
StepFigures step_figures(const Request& r, const TrainEstimate& e);
/// MFU under each convention.
std::vector<Utilization> utilization_by_convention(const Request& r, const TrainEstimate& e);

}  // namespace llmcalc
