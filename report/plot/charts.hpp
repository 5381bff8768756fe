#pragma once
/// Charts of a report, from its JSON: no number is computed a second time.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/plot/chart.hpp"
#include "text/json.hpp"

namespace llmcalc::plot {

/// A kind of chart.
struct ChartKind {
  std::string_view key;      ///< as in --plot KEY
  std::string_view meaning;  ///< content, for help and messages
  std::string_view needs;    ///< commands or options whose answers have it
};
std::span<const ChartKind> chart_kinds();

/// Labels of rows by the last part of their keys: "exchange_bytes" is "message buffers".
using Labels = std::map<std::string, std::string, std::less<>>;

/// The charts that a report's JSON contains, in the order of chart_kinds(), with these names for parts; a part without
/// a label is named by its key. `trace`: text of the step's schedule (report/trace/trace.hpp); empty: none.
std::vector<Chart> charts_of(const json::Value& report, const Labels& labels, const std::string& trace = "");

/// The curves of a report, which repeat its request with other values of one input: batch and context of `infer`, load
/// of `serve`. Empty for other commands. Points that are refused are omitted.
std::vector<Chart> curves_of(const json::Value& report);

}  // namespace llmcalc::plot
