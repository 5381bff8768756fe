#pragma once
/// Renders the short answer of a report.

#include "report/report.hpp"

namespace llmcalc {

/// At most Brief::lines lines on a screen of 80 columns, unless the verdict is longer. Precondition: the report has a
/// brief.
std::string brief_text(const Report& report, const Screen& screen);

}  // namespace llmcalc
