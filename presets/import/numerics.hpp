#pragma once
/// Numerics of the families whose checkpoints can be run: scaling factors, caps and rotary embeddings from their
/// modeling code, which an Arch does not contain.

#include <string>
#include <vector>

#include "calc/arch/numerics.hpp"
#include "presets/import/config.hpp"

namespace llmcalc::import {

/// Numerics from the config, or from the defaults of its class. Throws InputError for unsupported families, and for
/// conventions that the reference transformer does not support.
Numerics numerics(const Config& config, const Arch& arch);

/// Model types with known numerics, sorted.
std::vector<std::string> runnable_types();

}  // namespace llmcalc::import
