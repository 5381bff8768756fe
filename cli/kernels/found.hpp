#pragma once
/// Validation results by case, the report's last line, and the exit code.

#include <optional>

#include "cli/kernels/times.hpp"
#include "cli/kernels/verdicts.hpp"
#include "validate/metered.hpp"

namespace llmcalc {

struct Validated {
  std::vector<validate::CaseVerdict> verdicts;
  Times times;
  std::optional<validate::Metered> metered;  ///< sensor and counter readings of a single model, if the device has any
  bool exact() const;
  std::vector<std::string> names() const;  ///< names of the cases
};

/// Exit code 0 if all exact numbers match and, with `check_time`, every time is within its band; otherwise 1.
int exit_code(const Validated& f, bool check_time);

/// The report's last line, which names the worst offender if the exit code is 1.
void conclude(Report& report, const Validated& f, bool check_time);

}  // namespace llmcalc
