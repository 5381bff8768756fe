#pragma once
/// Renders the short answer of a report.

#include "report/report.hpp"

namespace llmcalc {

/// At most Brief::lines lines on a screen of 80 columns, if the verdict leaves room. Precondition: the report has a
/// brief.
std::string brief_text(const Report& report, const Screen& screen);

}  // namespace llmcalc
