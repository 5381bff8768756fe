#pragma once
/// Compares a saved report with the current answer to the same question.

#include <string>
#include <vector>

#include "report/report.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct Change {
  std::string path, before, now;
  std::string by;  ///< size of the change: "+1.2 %", "gone" or "new"
};

struct Changes {
  std::vector<Change> all;
  std::size_t compared = 0;
};

/// The current answer to the question of a saved report. Throws InputError if the file is not a report that answers a
/// question.
Report asked_twice(const json::Value& saved, const std::string& where);

/// Every number, verdict and name that differs between the reports or is in only one of them. Numbers count as equal if
/// they differ by at most the fraction `tolerance` of the saved number.
Changes changes_between(const json::Value& saved, const Report& today, double tolerance);

}  // namespace llmcalc
