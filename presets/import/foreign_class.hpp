#pragma once
/// What the class that "architectures" names says against counting a config as its model_type does.

#include <string>

#include "presets/import/config.hpp"

namespace llmcalc::import {

/// Refuses drafts and modules for further tokens that are files of their own (EAGLE, DFlash, DSpark, Medusa, MTP): they
/// have a target's model_type, and layers of other shapes without its table and head.
void refuse_draft(const Config& config);

/// A sentence where the class is none of the family's; empty where it is one of them, or where none is named.
std::string foreign_class(const Config& config);

}  // namespace llmcalc::import
