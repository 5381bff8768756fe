#pragma once
/// Draws the content of a chart below its title. Each function returns the height that it used.

#include <string>
#include <vector>

#include "report/plot/canvas.hpp"
#include "report/plot/chart.hpp"

namespace llmcalc::plot {

/// Top of the content: the title is above it.
inline constexpr double content_top = 30;

double draw(Canvas& canvas, const Bars& bars);
double draw(Canvas& canvas, const Curves& curves);
double draw(Canvas& canvas, const Timeline& timeline);

/// Draws a colored square and a name for each entry, in as many lines as needed, and returns the y below them.
double draw_legend(Canvas& canvas, const std::vector<std::string>& names, double left, double y);

/// Distinct names in order of appearance.
std::vector<std::string> part_names(const Bars& bars);
std::vector<std::string> span_kinds(const Timeline& timeline);
/// Index of a name, which determines its color.
std::size_t index_of(const std::vector<std::string>& names, const std::string& name);

}  // namespace llmcalc::plot
