#pragma once
/// The ends of estimate intervals, as formulas.

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "presets/estimators/estimate.hpp"
#include "report/explain/definition.hpp"

namespace llmcalc::explain {

/// One end of an interval; `w` is its factor.
Formula within(const std::optional<EstimateInterval>& interval, const char* expression);

/// The lower end of a time's interval, clamped at `t_0`, the time `bound` at full efficiency.
Formula within(const std::optional<EstimateInterval>& interval, const char* expression, const Setting& s,
               const char* bound);

/// An end of an interval that has no short form.
template <Letters path, Letters end>
Formula end_at(const Setting& s) {
  return from_engine(s, "x", "end of the interval", fmt::format("{}_{}", path.text, end.text));
}

/// The number of sources with figures of a class; these figures determine the interval.
inline Formula families(const Setting& s, const char* path) {
  return from_engine(s, "n_f", "sources with figures of this class", path);
}

inline constexpr std::string_view fitted_to_others =
    "each source predicted with parameters fitted to the other sources";
inline constexpr std::string_view left_out_figures = "llmcalc-fit inference";
inline constexpr std::string_view interval_law =
    "90 % quantile of the errors of held-out sources, weighted equally, per class of runs";
inline constexpr std::string_view known_interval = "estimates with a known interval, without --efficiency";

}  // namespace llmcalc::explain
