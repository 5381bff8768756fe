#pragma once
/// What the engine predicts for a row: one function for each kind of measurement.

#include <optional>

#include "evidence/inference_times.hpp"
#include "evidence/rows/training_case.hpp"
#include "presets/estimators/process_memory.hpp"

namespace llmcalc {

/// A predicted number, in base units, and its interval where there is one.
struct Prediction {
  double value = 0;
  std::optional<double> low{}, high{};
};

// Precondition of all: the case is not to be skipped. They throw Overflow where a count passes 2^63.

/// Seconds of an optimizer step.
struct PredictedStep {
  Prediction estimate;  ///< under the row's software, with its interval
  double bound = 0;     ///< at the datasheet's rates, with all exchanges hidden that the software can hide
};
PredictedStep predicted_step(const TrainingCase& c);
/// The bytes that a process holds, as that kind of memory counts them, and their interval.
Prediction predicted_memory(const ProcessMemory& held, MemoryKind kind);
/// The figures of a row of inference, rates over all devices: of times and rates the estimate under the row's engine,
/// and its interval. Nothing where the engine has no such quantity.
class PredictedCase {
 public:
  /// The case outlives it.
  explicit PredictedCase(const InferenceCase& c);
  std::optional<Prediction> figure(const Figure& f) const;
  /// The same at the datasheet's rates; nothing where the figure is no time or rate.
  std::optional<double> bound(const Figure& f) const;

 private:
  const InferenceCase& c_;
  InferenceTimes estimate_, bound_;
};

}  // namespace llmcalc
