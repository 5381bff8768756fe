#pragma once
/// Renders the short answer of a report.

#include "report/report.hpp"

namespace llmcalc {

/// At most Brief::lines lines on a screen of 80 columns, unless the verdict is longer. Precondition: the report has a
/// brief.
std::string brief_text(const Report& report, const Screen& screen);

/// The rows that the short answer shows, and the text of their numbers. Precondition: the report has a brief.
std::vector<const Row*> chosen_rows(const Report& report);
std::string number_text(const Row& row);
/// The grid of the short answer; null if it has no rows.
const Grid* short_grid(const Report& report);

}  // namespace llmcalc
