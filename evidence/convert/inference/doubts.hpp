#pragma once
/// Finds figures on which the notes of a row in the old schema cast doubt.

#include <string>

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

bool has_figure(const InferenceRow& row, FigureKind quantity);

/// Reason for doubting the figure, from the row's notes; empty: no doubt.
std::string doubt_of(FigureKind quantity, const InferenceRow& row);

}  // namespace llmcalc
