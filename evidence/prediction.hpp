#pragma once
/// What the engine predicts for a row: one function for each kind of measurement.

#include <optional>

#include "evidence/inference_case.hpp"
#include "presets/process_memory.hpp"
#include "evidence/training_case.hpp"

namespace llmcalc {

/// A predicted number, in base units, and its interval where there is one.
struct Prediction {
  double value = 0;
  std::optional<double> low{}, high{};
};

// Precondition of all: the case is not to be skipped. They throw Overflow where a count passes 2^63.

/// Seconds of an optimizer step: the estimate under the row's software, and its interval.
Prediction predicted_step(const TrainingCase& c);
/// The same at the datasheet's rates.
double bound_of_step(const TrainingCase& c);
/// The bytes that a process holds, as that kind of memory counts them, and their interval.
Prediction predicted_memory(const ProcessMemory& held, MemoryKind kind);
/// A figure of inference, rates over all devices: of times and rates the estimate under the row's engine, and its
/// interval. Nothing where the engine has no such quantity.
std::optional<Prediction> predicted_figure(const InferenceCase& c, const Figure& figure);
/// The same at the datasheet's rates; nothing where the figure is no time or rate.
std::optional<double> bound_of_figure(const InferenceCase& c, const Figure& figure);

}  // namespace llmcalc
