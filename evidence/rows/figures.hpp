#pragma once
/// The figures of a measurement of inference.

#include <string>
#include <utility>
#include <vector>

#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// By key, in the key's unit.
using MeasuredValues = std::vector<std::pair<std::string, double>>;

/// Every known key in base units. Of figures that say the same, one does not repeat another. The case has all else.
std::vector<Figure> figures_of(const MeasuredValues& measured, const InferenceCase& c);

}  // namespace llmcalc
