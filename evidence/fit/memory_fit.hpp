#pragma once
/// Fit of the three memory parameters, and the errors on held-out families.

#include <string>
#include <vector>

#include "evidence/names/device_name.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "presets/estimators/memory_estimate.hpp"

namespace llmcalc {

/// A measured memory figure, and its prediction with all parameters at 0.
struct MemoryFitRow {
  std::string family;
  bool reserved = false, process = false;  ///< whether the figure includes reserved memory, and process memory
  bool stated = true;                      ///< whether the row states the kind of memory; only such rows are fitted
  double bytes = 0, measured = 0;
};
double predicted_bytes(const MemoryFitRow& row, const MemoryParameters& p);

std::vector<MemoryFitRow> memory_fit_rows(const std::vector<TrainingCase>& cases);

/// Parameters that minimize the mean of |ln(predicted / measured)| over rows with a stated kind, with equal weights for
/// families, on a grid: shares from 0 to 0.3 in steps of 0.005, process memory from 1 GB (a CUDA context with PyTorch's
/// kernels) to 5 GB in steps of 0.25 GB.
MemoryParameters fit_memory(const std::vector<MemoryFitRow>& rows);

/// Fit to all rows. Its intervals cover 90 % of the errors of families that are predicted by a fit without them, with
/// equal weights for families.
MemoryEstimate fitted_memory(const std::vector<MemoryFitRow>& rows);

}  // namespace llmcalc
