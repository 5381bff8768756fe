#pragma once
/// The ends of estimate intervals, as formulas.

#include <optional>
#include <string_view>

#include "presets/estimators/estimate.hpp"
#include "report/explain/definition.hpp"

namespace llmcalc::explain {

/// An end of an interval; `w` is its factor.
Formula within(const std::optional<EstimateInterval>& interval, const char* expression);

/// The lower end of a time's interval, clamped at `t_0`, the time `bound` at full efficiency.
Formula within(const std::optional<EstimateInterval>& interval, const char* expression, const Setting& s,
               const char* bound);

/// The number of sources with figures of a class, which determine its interval.
inline Formula families(const Setting& s, const char* path) {
  return from_engine(s, "n_f", "sources with figures of the class", path);
}

inline constexpr std::string_view fitted_to_others = "each predicted by parameters fitted to the others";
inline constexpr std::string_view left_out_figures = "llmcalc-fit inference";
inline constexpr std::string_view interval_law =
    "the 90 % quantile of left-out errors, sources weighted equally, by class of runs";
inline constexpr std::string_view known_interval = "estimates with a known interval, without --efficiency";

}  // namespace llmcalc::explain
