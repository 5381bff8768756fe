#pragma once
/// The ends of intervals of estimates, as formulas.

#include <optional>
#include <string_view>

#include "presets/estimate.hpp"
#include "report/explain/formula.hpp"

namespace llmcalc::explain {

/// An end of an interval, in which `w` is its factor.
Formula within(const std::optional<EstimateInterval>& interval, const char* expression);

inline constexpr std::string_view interval_law =
    "the 90 % quantile of left-out errors, sources weighted equally, by class of runs";
inline constexpr std::string_view known_interval = "estimates with a known interval, without --efficiency";

}  // namespace llmcalc::explain
