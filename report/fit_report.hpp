#pragma once
/// Report of models that a device can run.

#include "report/fit.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// All models, largest first. Throws InputError where none of them can be run as asked.
Report fit_report(const FitQuestion& q, std::vector<ModelFit> models);

}  // namespace llmcalc
