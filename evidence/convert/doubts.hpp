#pragma once
/// Figures that a row in the old schema warns against.

#include <string>

#include "evidence/convert/inference_row.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

bool has_figure(const InferenceRow& row, FigureKind quantity);

/// Reason in the row's notes, or empty.
std::string doubt_of(FigureKind quantity, const InferenceRow& row);

}  // namespace llmcalc
