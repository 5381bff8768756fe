#include "presets/estimators/power_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace llmcalc {

const std::array<ParameterCard, power_parameter_count> power_parameter_cards{
    ParameterCard{"idle", 0.3, 0, 1, "share of the rated power between passes",
                  "default: none; the least mean power among the measured runs, hence an upper limit (one source)"},
    ParameterCard{"base", 1, 0, 1, "share of the rated power while a pass computes nothing: memory traffic, clocks",
                  "default: the rated power, an upper limit (one source)"},
    ParameterCard{"compute", 0, 0, 2,
                  "additional share at the peak FLOP/s, multiplied by the square root of utilization",
                  "default: none (one source)"}};

double power_share(const PowerParameters& p, double utilization) {
  return std::min(1.0, p.base + p.compute * std::sqrt(utilization));
}

double mean_power_share(const PowerParameters& p, double utilization, double busy) {
  if (busy <= 0) return p.idle;
  return busy * power_share(p, utilization / busy) + (1 - busy) * p.idle;
}

PowerEstimate read_power_estimate(const json::Value& value, const std::string& where) {
  PowerEstimate e;
  std::array<double, power_parameter_count> values{};
  std::vector<std::string> devices;
  const auto names = class_names<PowerClass>();
  read_estimate(value, where, {power_parameter_cards, values, names, std::span(&e.interval, 1), e.fitted, devices});
  e.parameters = {.idle = values[0], .base = values[1], .compute = values[2]};
  return e;
}

const PowerEstimate& power_estimate() {
  static const PowerEstimate fitted = [] {
    const EstimateFile file = builtin_estimate("power");
    return read_power_estimate(file.value, file.where);
  }();
  return fitted;
}

}  // namespace llmcalc
