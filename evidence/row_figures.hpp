#pragma once
/// The figures of a row of inference.

#include <vector>

#include "evidence/inference_case.hpp"

namespace llmcalc {

/// Every measured key of a row, in base units. Of figures that say the same, one does not repeat another.
std::vector<Figure> figures_of(const InferenceRow& row, const InferenceCase& c);

bool has_figure(const InferenceRow& row, FigureKind quantity);

}  // namespace llmcalc
