#pragma once
/// Predictions beside published measurements: what `llmcalc accuracy` answers.

#include <string>
#include <vector>

#include "evidence/accuracy.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// What was compared with what.
struct AccuracyQuestion {
  std::vector<std::string> files;  ///< empty: the published measurements
  bool rows = false;               ///< whether text shows every row
};

Report accuracy_report(const Accuracy& a, const AccuracyQuestion& question);

}  // namespace llmcalc
