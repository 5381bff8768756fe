#pragma once
/// Figures of an inference measurement.

#include <string>
#include <utility>
#include <vector>

#include "evidence/rows/inference_case.hpp"

namespace llmcalc {

/// Values by key, in the key's unit.
using MeasuredValues = std::vector<std::pair<std::string, double>>;

/// Figures for all known keys, in base units. Figures equivalent to an earlier one have `repeats` set. `c` is the case
/// without its figures.
std::vector<Figure> figures_of(const MeasuredValues& measured, const InferenceCase& c);

}  // namespace llmcalc
