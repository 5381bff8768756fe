#pragma once
/// The arithmetic of the families whose checkpoints can be run: what their modelling code multiplies, caps and turns
/// beside the products that an Arch describes.

#include <string>
#include <vector>

#include "calc/arch/numerics.hpp"
#include "presets/import/config.hpp"

namespace llmcalc::import {

/// The numerics that the config of such a family states or leaves to its class. Throws InputError for another family,
/// and for a convention that the reference transformer does not run.
Numerics numerics(const Config& config, const Arch& arch);

/// The model types whose numerics are known, sorted.
std::vector<std::string> runnable_types();

}  // namespace llmcalc::import
