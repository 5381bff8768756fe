#pragma once
/// Formulas outside a model's report: collectives, scaling laws, numbers of a device. Each is in the cheat sheet with
/// its variants; device formulas can be evaluated.

#include <optional>
#include <span>
#include <vector>

#include "presets/hardware_file.hpp"
#include "report/explain/examples.hpp"
#include "report/explain/explanation.hpp"

namespace llmcalc::explain {

/// Definitions in the order of the cheat sheet. Their `formula` is null.
std::span<const Definition> general_definitions();

/// The variants of the formula: by algorithm, by fit.
std::vector<Variant> general_variants(const Definition& d);

/// Explains a quantity with a device's numbers; absent if the quantity is not about a device, or if the device's file
/// lacks the numbers.
std::optional<Explanation> device_explanation(const HardwareCard& card, const Definition& d);

}  // namespace llmcalc::explain
