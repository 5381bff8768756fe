#pragma once
/// Arithmetic of the families whose checkpoints can be run: factors, caps and rotations of their modeling code, in
/// addition to the products of an Arch.

#include <string>
#include <vector>

#include "calc/arch/numerics.hpp"
#include "presets/import/config.hpp"

namespace llmcalc::import {

/// Numerics that the config states or leaves to its class. Throws InputError for another family, and for a convention
/// that the reference transformer does not support.
Numerics numerics(const Config& config, const Arch& arch);

/// Model types with known numerics, sorted.
std::vector<std::string> runnable_types();

}  // namespace llmcalc::import
