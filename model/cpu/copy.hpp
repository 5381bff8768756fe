#pragma once
/// Copy bandwidth of this machine.

#include "calc/units.hpp"

namespace llmcalc::model {

/// Bytes read and written per second by memcpy on all cores, between two arrays of `bytes` bytes. Best of nine runs.
double copy_bandwidth(Count bytes);

}  // namespace llmcalc::model
