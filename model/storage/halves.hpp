#pragma once
/// Layer numbering.

#include "calc/arch.hpp"

namespace llmcalc::model {

/// Parts of a layer that the transformer numbers as separate layers: the two halves of a shortcut block, each with its
/// own weights, caches and dropout masks.
inline Count halves(const Arch& a) { return a.block == BlockKind::shortcut ? 2 : 1; }

}  // namespace llmcalc::model
