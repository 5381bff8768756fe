#pragma once
/// Predictions compared with published measurements: the answer of `llmcalc accuracy`.

#include <string>
#include <vector>

#include "evidence/accuracy.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Inputs of the comparison.
struct AccuracyQuestion {
  std::vector<std::string> files;  ///< measurement files; empty: the published measurements
  bool rows = false;               ///< whether text output shows every row
};

Report accuracy_report(const Accuracy& a, const AccuracyQuestion& question);

}  // namespace llmcalc
