#pragma once
/// The machine of a measurement as JSON: a preset by name, or an object that names the preset it is like and the
/// numbers that differ, in base units.
///
///   "h100-sxm-80gb"
///   { "like": "h100-sxm-80gb", "name"?, "title"?, "memory_bytes"?, "cache_bytes"?, "bandwidth_bytes_per_s"?,
///     "peak_flops_per_s"?: {"bf16": ...}, "links"?: [ {"ranks", "bandwidth_bytes_per_s", "latency_s", "reduces"?,
///     "torus"?} ] }
///
/// "links" are those of the run, from the innermost outwards, in place of the preset's; "torus": it has the axes of the
/// preset's innermost link.

#include <string>

#include "presets/hardware_file.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// `like`: the preset that the card was made from.
json::Value machine_json(const HardwareCard& card, const std::string& like);

struct RowMachine {
  HardwareCard card;
  std::string like;    ///< the preset that it was made from
  bool preset = true;  ///< it has the preset's name
};
/// Throws InputError.
RowMachine read_machine(const json::Value& value, const std::string& where);

}  // namespace llmcalc
