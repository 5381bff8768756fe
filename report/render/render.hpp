#pragma once
/// Renders a report in any style, and values as JSON.

#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {

std::string render(const Report& report, const Screen& screen);
json::Value report_json(const Report& report);
/// Suffix of the key for an integer's digits.
inline constexpr std::string_view exact_text_ending = "_text";
/// Whether a key of the object has the digits of another key's integer.
bool is_exact_text(const json::Value& object, std::string_view key);
/// One value, exact.
json::Value value_json(const Quantity& q);
/// The number in a JSON value, including counts above 2^64; absent for other values.
std::optional<double> number_of(const json::Value& value);
/// JSON text; integers above 2^64 have every digit. Integers above 2^53, which readers that use doubles round, are
/// followed by their digits as a string: "total", then "total_text".
std::string dump(const json::Value& value);
/// A value as JSON on one line, without a line end.
std::string dump_line(const json::Value& value);

}  // namespace llmcalc
