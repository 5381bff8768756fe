#pragma once
/// The points of a sweep from JSON.
///
///   { "base": request, "ranges": { key: [value, ...] | "1..64x2" }, "fields": ["step.time_s", ...] }
///   { "base": request, "points": [{ key: value, ... }, ...], "fields": [...] }
///
/// A key is "model", "hardware" or an option's key under "inputs", and replaces the base's value. "ranges": every
/// combination, of which the last key varies fastest; a range in text has the syntax of 'llmcalc sweep'. "points": all
/// have the same keys. Models and hardware of points are presets. "fields": values of the answer by dotted path;
/// without it, about ten per command.

#include <string>
#include <vector>

#include "report/sweep/points.hpp"

namespace llmcalc {

/// Maximum number of points of a sweep whose rows are one text.
inline constexpr Count most_points = 10'000'000;

struct AskedSweep {
  SweepPoints points;
  std::vector<std::string> fields;
};

/// Throws InputError.
AskedSweep read_sweep(const json::Value& request);

}  // namespace llmcalc
