#pragma once
/// A report saved earlier, against the same question asked today.

#include <string>
#include <vector>

#include "report/report.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct Change {
  std::string path, before, now;
  std::string by;  ///< "+1.2 %", "gone" or "new"
};

struct Changes {
  std::vector<Change> all;
  std::size_t compared = 0;
};

/// Asks the question of a saved report again. Throws InputError if the file is no report that answers one.
Report asked_again(const json::Value& saved, const std::string& where);

/// Every number, verdict and name that is not the same in both, and those that only one of them has. Numbers that
/// differ by at most `tolerance` of the saved one count as the same.
Changes changes_between(const json::Value& saved, const Report& today, double tolerance);

}  // namespace llmcalc
