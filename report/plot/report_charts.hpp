#pragma once
/// Readers of charts from a report's JSON; absent if the report lacks their data. The caller sets the key.

#include <optional>
#include <string>

#include "report/plot/chart.hpp"
#include "text/json.hpp"

namespace llmcalc::plot {

std::optional<Chart> memory_chart(const json::Value& report);
std::optional<Chart> breakdown_chart(const json::Value& report);
std::optional<Chart> roofline_chart(const json::Value& report);
std::optional<Chart> sensitivity_chart(const json::Value& report);
std::optional<Chart> pipeline_chart(const json::Value& report, const std::string& trace);
std::optional<Chart> requests_chart(const json::Value& report);
std::optional<Chart> plans_chart(const json::Value& report);
std::optional<Chart> models_chart(const json::Value& report);
std::optional<Chart> accuracy_chart(const json::Value& report);

}  // namespace llmcalc::plot
