#include "text/date.hpp"

namespace llmcalc {

bool is_date(std::string_view text) {
  const bool year = text.size() == 4 && text.starts_with("20");
  if (!year && text.size() != 7 && text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i == 4 || i == 7 ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  return true;
}

std::optional<std::string> leading_date(std::string_view text) {
  for (const std::size_t n : {10, 7, 4})
    if (is_date(text.substr(0, n))) return std::string(text.substr(0, n));
  return std::nullopt;
}

std::string first_day(std::string_view date) {
  constexpr std::string_view first = "0000-01-01";
  return std::string(date) + std::string(first.substr(date.size()));
}

}  // namespace llmcalc
