#pragma once
/// Renders a report as text for a terminal.

#include "report/report.hpp"

namespace llmcalc {

/// Text of a whole report, of one grid, and of lines in bold or bold red if the screen supports it.
std::string render_text(const Report& report, const Screen& screen);
std::string grid_text(const Grid& grid, const Screen& screen);
std::string in_bold(const std::string& lines, const Screen& screen);
std::string in_red(const std::string& lines, const Screen& screen);

}  // namespace llmcalc
