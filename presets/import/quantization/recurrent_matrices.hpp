#pragma once

#include "presets/import/quantization/named_layer.hpp"

namespace llmcalc::import {

/// Visits the matrices of a layer's recurrence with their names in the modeling code. Excludes convolutions and
/// per-head vectors. `hidden`: model width.
void recurrent_matrices(const NamedLayer& l, const Recurrent& r, Count hidden);

}  // namespace llmcalc::import
