#pragma once
/// Formulas that no report of a model has: collectives, scaling laws, numbers of a device. Each stands in the cheat
/// sheet with its variants; a device's can be worked out.

#include <optional>
#include <span>
#include <vector>

#include "presets/hardware_file.hpp"
#include "report/explain/examples.hpp"
#include "report/explain/explanation.hpp"

namespace llmcalc::explain {

/// In the order of the cheat sheet; they have no Definition::formula.
std::span<const Definition> general_definitions();

/// The ways to write it: by algorithm, by fit.
std::vector<Variant> general_variants(const Definition& d);

/// With a device's numbers; nothing if it is not about a device, or the device's file does not say.
std::optional<Explanation> device_explanation(const HardwareCard& card, const Definition& d);

}  // namespace llmcalc::explain
