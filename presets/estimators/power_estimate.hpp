#pragma once
/// Mean power of a device that runs inference, relative to its rated power: presets/estimates/power.json.
///
///   share(u)  = min(1, base + compute x sqrt(u)), while passes run
///   u         = model FLOP/s / peak FLOP/s at the plan's precision
///   mean      = busy x share(u / busy) + (1 - busy) x idle
///
/// Includes the device alone: no host, no cooling. Memory traffic is part of `base`, because a pass that computes
/// little is bound by memory.

#include <array>
#include <string>

#include "calc/choice.hpp"
#include "presets/estimators/estimate.hpp"

namespace llmcalc {

struct PowerParameters {
  double idle = 0;     ///< share of the rated power between passes
  double base = 0;     ///< share of the rated power in a pass that computes nothing
  double compute = 0;  ///< additional share at the peak FLOP/s
  bool operator==(const PowerParameters&) const = default;
};
inline constexpr std::size_t power_parameter_count = 3;
/// Cards in the order of PowerParameters' fields. The fit (evidence/fit/power_fit.hpp) searches all values within the
/// bounds.
extern const std::array<ParameterCard, power_parameter_count> power_parameter_cards;

/// Share of the rated power while passes run. `utilization`: model FLOP/s over the peak, 0 or more.
double power_share(const PowerParameters& p, double utilization);
/// Share of the rated power on average. `busy`: fraction of the time in which passes run; `utilization`: over the whole
/// time.
double mean_power_share(const PowerParameters& p, double utilization, double busy);

enum class PowerClass : std::uint8_t { device };
template <>
inline constexpr auto choices<PowerClass> = std::array{Choice{PowerClass::device, "device"}};

struct PowerEstimate {
  PowerParameters parameters{};
  EstimateInterval interval{};  ///< each model on each device is predicted without that model and that device
  std::string fitted{};         ///< date and dataset of the fit
};
/// The built-in estimate, which is read on first use.
const PowerEstimate& power_estimate();
PowerEstimate read_power_estimate(const json::Value& value, const std::string& where);

}  // namespace llmcalc
