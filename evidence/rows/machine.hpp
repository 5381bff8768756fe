#pragma once
/// The machine of a measurement as JSON: a preset's name, or an object that names the most similar preset and lists the
/// values that differ from it, in base units.
///
///   "h100-sxm-80gb"
///   { "like": "h100-sxm-80gb", "name"?, "title"?, "memory_bytes"?, "cache_bytes"?, "bandwidth_bytes_per_s"?,
///     "peak_flops_per_s"?: {"bf16": ...}, "links"?: [ {"ranks", "bandwidth_bytes_per_s", "latency_s", "reduces"?,
///     "torus"?} ] }
///
/// "links" replace the preset's links, from the innermost outwards; "torus": the link has the torus axes of the
/// preset's innermost link.

#include <string>

#include "presets/hardware_file.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// A machine as JSON; `like`: preset from which the card was made.
json::Value machine_json(const HardwareCard& card, const std::string& like);

struct RowMachine {
  HardwareCard card;
  std::string like;    ///< preset from which the card was made
  bool preset = true;  ///< whether the card has the preset's name
};
/// Throws InputError.
RowMachine read_machine(const json::Value& value, const std::string& where);

}  // namespace llmcalc
