#pragma once
/// Preset of a row's model, used for shapes that the row does not state.

#include <optional>
#include <string>

#include "calc/arch.hpp"

namespace llmcalc {

/// Architecture of the preset with the name of a row's model. Empty if layers, heads or width differ, since the name
/// then refers to another model.
std::optional<Arch> preset_arch(const std::string& name, Count layers, Count hidden, Count heads);

/// Whether layers differ in ways that a row's keys cannot express: windows, recurrences, mixed residual streams.
bool has_layers_of_kinds(const Arch& arch);

}  // namespace llmcalc
