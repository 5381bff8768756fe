#pragma once
/// Fit of the three memory parameters, and its error on left-out families.

#include <string>
#include <vector>

#include "evidence/names/device_name.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "presets/estimators/memory_estimate.hpp"

namespace llmcalc {

/// A measured memory, and its prediction with all parameters at 0.
struct MemoryFitRow {
  std::string family;
  bool reserved = false, process = false;  ///< which parameters affect it
  bool stated = true;                      ///< the row states the kind of memory; other rows are not fitted
  double bytes = 0, measured = 0;
};
double predicted_bytes(const MemoryFitRow& row, const MemoryParameters& p);

std::vector<MemoryFitRow> memory_fit_rows(const std::vector<TrainingCase>& cases);

/// Parameters that minimize the mean of |ln(predicted / measured)| over rows with a stated kind, with equal weights for
/// families, on a grid: shares from 0 to 0.3 in steps of 0.005, process memory from 1 GB (a CUDA context with PyTorch's
/// kernels) to 5 GB in steps of 0.25 GB.
MemoryParameters fit_memory(const std::vector<MemoryFitRow>& rows);

/// Fit to all rows, with intervals that cover 90 % of each family's errors under a fit without it, equally weighted.
MemoryEstimate fitted_memory(const std::vector<MemoryFitRow>& rows);

}  // namespace llmcalc
