#pragma once
/// How fast this machine copies.

#include "calc/units.hpp"

namespace llmcalc::model {

/// Bytes read and written per second by memcpy on all cores, between two arrays of so many bytes: the best of nine.
double copy_bandwidth(Count bytes);

}  // namespace llmcalc::model
