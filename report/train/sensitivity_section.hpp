#pragma once
/// Sections about the change of a time if a part of the machine is 10 % better.

#include "ask/answer/inference.hpp"
#include "ask/answer/training.hpp"
#include "report/report.hpp"

namespace llmcalc {

Section sensitivity_section(const TrainingAnswer& a);
Section decode_sensitivity_section(const InferenceAnswer& a);

}  // namespace llmcalc
