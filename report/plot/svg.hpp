#pragma once
/// Charts as SVG: text stays text, colors are safe for color-blind readers and follow the reader's light or dark theme.

#include <string>
#include <string_view>

#include "report/plot/chart.hpp"

namespace llmcalc::plot {

/// Style of all charts, for a page that contains them.
std::string chart_style();

/// The chart as an <svg> element with a title and a description for screen readers. `prefix`: start of its ids, unique
/// in a page.
std::string svg_element(const Chart& chart, const std::string& prefix);

/// Start of every chart, by which the program recognizes its own files.
inline constexpr std::string_view svg_begin = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\"";

/// The chart as a complete SVG file.
std::string svg_file(const Chart& chart);

}  // namespace llmcalc::plot
