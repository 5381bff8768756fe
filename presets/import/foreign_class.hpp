#pragma once
/// Checks of the class in "architectures" against a config's model_type.

#include <string>

#include "presets/import/config.hpp"

namespace llmcalc::import {

/// Throws InputError for draft models and MTP modules in separate files (EAGLE, DFlash, DSpark, Medusa, MTP). They
/// have the target's model_type, but layers of other shapes and no table or head.
void refuse_draft(const Config& config);

/// A caveat if the class does not belong to the family of the model_type; empty if it does, or if the config names no
/// class.
std::string foreign_class(const Config& config);

}  // namespace llmcalc::import
