#pragma once
/// The verdict of a report: whether the plan fits, its time, and its bound.

#include <string_view>

#include "ask/answer/inference.hpp"
#include "ask/answer/training.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Adds whether inference fits. `about` precedes the label: "inference fits".
void add_inference_fit(const InferenceAnswer& a, Report& report, std::string_view about = "");
/// Adds whether training fits: the process of its software, if its memory can be estimated, and the tensors.
void add_training_fit(const TrainingAnswer& a, Report& report, std::string_view about = "");

/// Adds the verdict on training: fit, step time, bound, largest terms of the time, and the run.
void add_train_verdict(const TrainingAnswer& a, Report& report, std::string_view about = "");
/// Adds the verdict on inference: fit, times of prefill and decode, bounds, largest terms of the times.
void add_infer_verdict(const InferenceAnswer& a, Report& report, std::string_view about = "");

}  // namespace llmcalc
