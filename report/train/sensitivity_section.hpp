#pragma once
/// Sections on how a time changes if one part of the machine improves by 10 %.

#include "ask/answer/inference.hpp"
#include "ask/answer/training.hpp"
#include "report/report.hpp"

namespace llmcalc {

Section sensitivity_section(const TrainingAnswer& a);
Section decode_sensitivity_section(const InferenceAnswer& a);

}  // namespace llmcalc
