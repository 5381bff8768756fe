#pragma once
/// Renders a report as a fragment of HTML for notebooks and web pages, without scripts, links or style sheets.

#include <string>
#include <string_view>

#include "report/report.hpp"

namespace llmcalc {

/// The short answer as a table with its memory bar; the text in a <pre> element if the report has no short answer or
/// the screen shows full reports.
std::string html_text(const Report& report, const Screen& screen);

/// Text in a <pre> element.
std::string preformatted_html(std::string_view text);

}  // namespace llmcalc
