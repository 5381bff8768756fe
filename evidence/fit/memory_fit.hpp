#pragma once
/// The fit of memory's three parameters, and how far it is from families that it has not seen.

#include <string>
#include <vector>

#include "evidence/names/device_name.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "presets/estimators/memory_estimate.hpp"

namespace llmcalc {

/// A measured memory, and what is predicted where every parameter is 0.
struct MemoryFitRow {
  std::string family;
  bool reserved = false, process = false;  ///< which parameters act on it
  bool stated = true;                      ///< what was read is said: others are not fitted to
  double bytes = 0, measured = 0;
};
double predicted_bytes(const MemoryFitRow& row, const MemoryParameters& p);

std::vector<MemoryFitRow> memory_fit_rows(const std::vector<TrainingCase>& cases);

/// The parameters with the least mean of |ln(predicted / measured)| over rows that say what was read, families weighted
/// equally, on a grid: shares from 0 to 0.3 by 0.005, a process from 1 GB (a CUDA context with PyTorch's kernels) to 5
/// GB by 0.25 GB.
MemoryParameters fit_memory(const std::vector<MemoryFitRow>& rows);

/// The fit to all rows, and intervals from 90 % of the errors of each family under a fit without it, families weighted
/// equally.
MemoryEstimate fitted_memory(const std::vector<MemoryFitRow>& rows);

}  // namespace llmcalc
