#pragma once
/// Compares reports and breaks down their differences.

#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The command in help and documentation.
inline constexpr std::string_view compare_name = "compare";
inline constexpr std::string_view compare_summary = "compare plans, models or devices";
inline constexpr std::string_view compare_about =
    "Shows reports of the same command side by side and breaks down the differences between them. A plan search (plan "
    "train) is represented by its best plan.";

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
