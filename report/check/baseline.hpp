#pragma once
/// Compares a saved report with today's answer to the same question.

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

/// Repeats the question of a saved report. Throws InputError if the file is not a report that answers one.
Report asked_twice(const json::Value& saved, const std::string& where);

/// Every number, verdict and name that differs, and those in only one report. Numbers that differ by at most
/// `tolerance` of the saved one count as equal.
Changes changes_between(const json::Value& saved, const Report& today, double tolerance);

}  // namespace llmcalc
