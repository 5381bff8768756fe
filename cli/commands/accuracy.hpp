#pragma once
/// Reading and prediction of measurements, shared by several commands.

#include <optional>
#include <string>
#include <vector>

#include "cli/progress_line.hpp"
#include "evidence/accuracy.hpp"

namespace llmcalc {

/// Throws InputError for an unknown kind.
AccuracyKind accuracy_kind(const std::string& said);

/// The measurements in the files. Throws InputError if a file cannot be read, if it has no rows of the requested kind,
/// or if a row id occurs twice.
MeasurementFile measurements(const std::vector<std::string>& paths, std::optional<AccuracyKind> kind);

/// Predicts the rows and shows progress on `line`.
Accuracy predicted(const MeasurementFile& file, std::optional<AccuracyKind> kind, const ReplayBasis& basis,
                   ProgressLine& line);

}  // namespace llmcalc
