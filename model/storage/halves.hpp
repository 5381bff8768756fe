#pragma once
/// Numbers of layers.

#include "calc/arch.hpp"

namespace llmcalc::model {

/// Parts of a layer that the transformer numbers as layers of their own: the two halves of a shortcut block, each with
/// weights, caches and dice of its own.
inline Count halves(const Arch& a) { return a.block == BlockKind::shortcut ? 2 : 1; }

}  // namespace llmcalc::model
