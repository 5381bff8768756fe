#pragma once
/// Computes the rows of a sweep on all cores and writes them in order.

#include <functional>

#include "cli/sweep/table.hpp"

namespace llmcalc {

struct SweepRun {
  Count rows = 0;    ///< rows written, excluding those already in the table
  Count errors = 0;  ///< impossible points among these rows
};

/// Writes the rows of the points from `first` on. If the runner is stopped, writes only the rows before the first
/// missing row.
SweepRun write_rows(const SweepPoints& points, const std::vector<Column>& columns, Count first, Table& table,
                    Runner& runner);

}  // namespace llmcalc
