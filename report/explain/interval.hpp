#pragma once
/// The ends of intervals of estimates, as formulas.

#include <optional>
#include <string_view>

#include "presets/estimators/estimate.hpp"
#include "report/explain/definition.hpp"

namespace llmcalc::explain {

/// An end of an interval, in which `w` is its factor.
Formula within(const std::optional<EstimateInterval>& interval, const char* expression);

/// The end towards shorter times, of a figure with the time `bound` at full efficiency, `t_0`: no measurement is
/// faster.
Formula within(const std::optional<EstimateInterval>& interval, const char* expression, const Setting& s,
               const char* bound);

/// The sources with figures of a class, behind its interval.
inline Formula families(const Setting& s, const char* path) {
  return from_engine(s, "n_f", "sources with figures of the class", path);
}

inline constexpr std::string_view fitted_to_others = "each predicted by parameters fitted to the others";
inline constexpr std::string_view left_out_figures = "llmcalc-fit inference";
inline constexpr std::string_view interval_law =
    "the 90 % quantile of left-out errors, sources weighted equally, by class of runs";
inline constexpr std::string_view known_interval = "estimates with a known interval, without --efficiency";

}  // namespace llmcalc::explain
