#pragma once
/// The preset of a row's model: what decides where the row's own shapes are silent.

#include <optional>
#include <string>

#include "calc/arch.hpp"

namespace llmcalc {

/// The architecture of the preset that a row's model is called by, if it has as many layers, heads and numbers of a
/// token; else the name means another model.
std::optional<Arch> preset_arch(const std::string& name, Count layers, Count hidden, Count heads);

/// Whether layers differ in ways that a row has no keys for: windows, recurrences, mixed residual streams.
bool has_layers_of_kinds(const Arch& arch);

}  // namespace llmcalc
