#pragma once
/// Compares reports and breaks down their differences.

#include <string>
#include <vector>

#include "report/report.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// A report as JSON, with a label: a file name, or the options in which it differs.
struct Side {
  std::string name;
  json::Value report;
};

/// Compares the first side with each other side: every quantity that differs and, for a sum, the parts that make up the
/// difference. A search is represented by its best plan. Throws InputError if a side is not a report, comes from
/// another command, or is a search without plans.
Report compare(const std::vector<Side>& reports);

}  // namespace llmcalc
