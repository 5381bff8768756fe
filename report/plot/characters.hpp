#pragma once
/// Charts drawn with characters, for a terminal.

#include <string>

#include "report/plot/chart.hpp"

namespace llmcalc::plot {

/// The chart in at most `columns` columns, with its title and legend.
std::string characters(const Chart& chart, std::size_t columns);

}  // namespace llmcalc::plot
