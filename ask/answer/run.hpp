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
  double count = 0;    ///< failures until the run ends
  double goodput = 1;  ///< useful share of the time; the rest is checkpoints, lost work and restarts
};

/// A run over --tokens.
struct WholeTraining {
  Seconds time{};                              ///< without failures
  std::optional<EstimateInterval> interval{};  ///< 90 % interval of the time, if it is predicted
  double gpu_hours = 0;                        ///< without failures
  std::optional<RunFailures> failures{};       ///< with --mtbf
  double effective_days() const;               ///< with failures
  double effective_gpu_hours() const;          ///< with failures; basis of energy and cost
  std::optional<GpusForDays> gpus{};           ///< with --days
  std::optional<double> watts{}, energy_kwh{}, co2_kg{};
  std::optional<double> usd_per_gpu_hour{}, cost_usd{};
};

struct RunEstimate {
  double tokens_per_s = 0;  ///< throughput of all GPUs: measured, stated as MFU, or predicted
  bool possible = true;     ///< whether the plan fits or was measured
  std::optional<WholeTraining> whole{};
};

/// `interval`: of the step's time. Throws InputError if failures leave no progress, or if energy is requested and the
/// power is unknown. Precondition: the request has hardware.
RunEstimate run_estimate(const Request& r, const TrainEstimate& e, const std::optional<EstimateInterval>& interval);

}  // namespace llmcalc
