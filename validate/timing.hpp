#pragma once
/// Measured seconds of operators, steps and passes, next to the engine's predictions for this hardware.

#include <string>
#include <vector>

#include "calc/device.hpp"
#include "validate/run.hpp"

namespace llmcalc::validate {

/// The tolerance: a measurement is within the band if it is at most this factor above or below the prediction.
inline constexpr double band = 1.25;

struct Timing {
  std::string part;                    ///< "training", "inference"
  std::string what;                    ///< "step", "prefill", "decode", "forward", "backward"
  std::string op;                      ///< empty: all operators
  double predicted = 0, measured = 0;  ///< seconds
  double ratio() const { return measured / predicted; }
  bool within() const { return ratio() <= band && ratio() >= 1 / band; }
};

/// Medians of `repeats` runs after three warm-up runs, next to the engine's estimates (from the device's achieved
/// fractions).
std::vector<Timing> timed_training(const Case& c, const Device& device, int repeats, const Where& where);
std::vector<Timing> timed_inference(const Case& c, const Device& device, int repeats, const Where& where);

}  // namespace llmcalc::validate
