#pragma once
/// Fit of the parameters of a device's power, and the errors on held-out models and devices.

#include <string>
#include <vector>

#include "evidence/rows/inference_case.hpp"
#include "presets/estimators/power_estimate.hpp"

namespace llmcalc {

/// Mean power of a device in a measured run.
struct PowerFitRow {
  std::string family, model, device;
  double utilization = 0;  ///< predicted model FLOP/s over the peak
  double share = 0;        ///< measured power over the rated power
};

/// The rows with a power figure, on devices of known power.
std::vector<PowerFitRow> power_fit_rows(const std::vector<InferenceCase>& cases);

/// Parameters that minimize the mean of |ln(predicted / measured)|, with equal weights for each model on each device,
/// on a grid with steps of 0.01. `idle` is the least measured share.
PowerParameters fit_power(const std::vector<PowerFitRow>& rows);

/// Fit to all rows. Its interval covers 90 % of the errors of models on devices that are predicted by a fit without
/// this model and without this device. Counts the sources in `families`.
PowerEstimate fitted_power(const std::vector<PowerFitRow>& rows);

}  // namespace llmcalc
