#pragma once
/// Report of models that a device can run.

#include "report/fit.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// All models, largest first. Throws InputError if no model can run under these options.
Report fit_report(const FitQuestion& q, std::vector<ModelFit> models);

}  // namespace llmcalc
