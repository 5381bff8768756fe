#pragma once
/// Predictions for a row, with one function for each kind of measurement.

#include <optional>

#include "evidence/inference_times.hpp"
#include "evidence/rows/training_case.hpp"
#include "presets/estimators/process_memory.hpp"

namespace llmcalc {

/// A predicted value in base units, with its interval if known.
struct Prediction {
  double value = 0;
  std::optional<double> low{}, high{};
};

// Precondition for all functions: the case's `skip` is empty. All throw Overflow if a count exceeds 2^63.

/// Time of one optimizer step, in seconds.
struct PredictedStep {
  Prediction estimate;  ///< estimate with the row's software, including its interval
  double bound = 0;     ///< time at datasheet rates, with all collectives overlapped that the software can overlap
};
PredictedStep predicted_step(const TrainingCase& c);
/// Bytes used by a process, counted as `kind` specifies, with their interval.
Prediction predicted_memory(const ProcessMemory& held, MemoryKind kind);
/// Figures of an inference row, with rates totaled over all devices. Times and rates are estimates for the row's
/// engine, with their interval. Empty if the calculation does not cover the quantity.
class PredictedCase {
 public:
  /// The case must outlive the object.
  explicit PredictedCase(const InferenceCase& c);
  std::optional<Prediction> figure(const Figure& f) const;
  /// Value of a figure at datasheet rates. Empty if the figure is not a time or rate.
  std::optional<double> bound(const Figure& f) const;

 private:
  std::optional<Prediction> power() const;

  const InferenceCase& c_;
  InferenceTimes estimate_, bound_;
};

}  // namespace llmcalc
