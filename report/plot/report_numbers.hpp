#pragma once
/// Access to the numbers of a report's JSON.

#include <optional>
#include <string>
#include <string_view>

#include "text/json.hpp"

namespace llmcalc::plot {

/// The value at a path such as "memory.process.needed_bytes"; null if absent.
const json::Value* value_at(const json::Value& report, std::string_view path);
/// The number at a path; absent if there is none.
std::optional<double> number_at(const json::Value& report, std::string_view path);
/// The text at a path; empty if there is none.
std::string text_at(const json::Value& report, std::string_view path);

/// A key as words: "weights_bytes" becomes "weights", "pp" stays.
std::string words_of_key(std::string_view key);

/// "Llama-3.1-8B on H100 SXM 80GB": model and device of a report, as far as it has them.
std::string subject_of_report(const json::Value& report);

}  // namespace llmcalc::plot
