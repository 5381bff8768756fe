#pragma once
/// Renders a report as Markdown or JSON, and values as JSON.

#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {

std::string render(const Report& report, const Screen& screen);
json::Value report_json(const Report& report);
/// One value, exact.
json::Value value_json(const Quantity& q);
/// The number in a JSON value, including counts past 2^64; absent for other values.
std::optional<double> number_of(const json::Value& value);
/// JSON text; integers past 2^64 with every digit.
std::string dump(const json::Value& value);

}  // namespace llmcalc
