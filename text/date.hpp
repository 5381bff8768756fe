#pragma once
/// Dates as text: a year, a month or a day ("2026", "2026-03", "2026-03-28").

#include <optional>
#include <string>
#include <string_view>

namespace llmcalc {

bool is_date(std::string_view text);
/// The longest date that the text begins with: "2026-07" in "2026-07/08". Absent if the text begins otherwise.
std::optional<std::string> leading_date(std::string_view text);
/// The first day of a date: "2026-03-01" of "2026-03". Days in this form are ordered as text.
std::string first_day(std::string_view date);

}  // namespace llmcalc
