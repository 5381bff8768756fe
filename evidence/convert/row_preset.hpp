#pragma once
/// Preset of a row's model, used for shapes that the row does not state.

#include <optional>
#include <string>

#include "calc/arch.hpp"

namespace llmcalc {

/// Architecture of the preset named like a row's model, if layers, heads and width match; otherwise the name means
/// another model.
std::optional<Arch> preset_arch(const std::string& name, Count layers, Count hidden, Count heads);

/// Whether layers differ in ways for which rows have no keys: windows, recurrences, mixed residual streams.
bool has_layers_of_kinds(const Arch& arch);

}  // namespace llmcalc
