#pragma once
/// The numbers of a chart as a table, for readers without the picture.

#include "report/plot/chart.hpp"
#include "report/report.hpp"

namespace llmcalc::plot {

/// One row per bar, point or span.
Grid table_of(const Chart& chart);

}  // namespace llmcalc::plot
