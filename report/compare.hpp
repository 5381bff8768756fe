#pragma once
/// Reports side by side, and what the difference consists of.

#include <string>
#include <vector>

#include "report/report.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// A report as JSON, and what to call it: a file's name, or the options in which it differs.
struct Side {
  std::string name;
  json::Value report;
};

/// Every quantity in which the sides differ, the first against each of the others, with the parts that make up the
/// difference of a sum. A search stands for the best of its plans. Throws InputError where a side is no report, or one
/// of another command, or a search without plans.
Report compare(const std::vector<Side>& reports);

}  // namespace llmcalc
