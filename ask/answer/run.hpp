#pragma once
/// A whole training run: throughput, days, GPU-hours, failures, energy, cost.

#include <optional>

#include "ask/answer/days.hpp"
#include "ask/request/request.hpp"
#include "calc/run.hpp"
#include "calc/train.hpp"
#include "presets/estimators/training_estimator.hpp"

namespace llmcalc {

/// Checkpoints and failures of a run on all its GPUs.
struct RunFailures {
  Failures rates;
  Bytes checkpoint{};
  double count = 0;    ///< expected number of failures until the run ends
  double goodput = 1;  ///< share of time spent on useful training; the rest goes to checkpoints, lost work and restarts
};

/// A run over --tokens.
struct WholeTraining {
  Seconds time{};                                ///< duration of the run without failures
  std::optional<EstimateInterval> interval{};    ///< 90 % interval of the duration, if it is predicted
  double gpu_hours = 0;                          ///< GPU-hours without failures
  std::optional<RunFailures> failures{};         ///< present with --mtbf
  double effective_days() const;                 ///< duration in days, with failures
  double effective_gpu_hours() const;            ///< GPU-hours with failures; basis of energy and cost
  std::optional<GpusForDays> gpus{};             ///< present with --days
  std::optional<Count> gpus_low{}, gpus_high{};  ///< the same at the ends of the interval
  std::optional<double> watts{}, energy_kwh{}, co2_kg{};
  std::optional<double> usd_per_gpu_hour{}, cost_usd{};
};

struct RunEstimate {
  double tokens_per_s = 0;  ///< throughput of all GPUs: measured, stated as MFU, or predicted
  bool possible = true;     ///< whether the plan fits or was measured
  std::optional<WholeTraining> whole{};
};

/// `interval`: interval of the step's time. Throws InputError if failures leave no progress, or if energy is
/// requested and the power is unknown. Precondition: the request has hardware.
RunEstimate run_estimate(const Request& r, const TrainEstimate& e, const std::optional<EstimateInterval>& interval);

}  // namespace llmcalc
