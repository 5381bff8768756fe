#pragma once
/// Measurements: a JSON array of rows or JSON Lines. Each row has a request and its measured values, in the schema of
/// its "command": evidence/rows/training_measurement.hpp, evidence/rows/inference_measurement.hpp,
/// evidence/rows/serving_measurement.hpp.

#include <string>
#include <string_view>
#include <vector>

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/run_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

enum class MeasurementKind { training, inference, serving };

struct MeasurementFile {
  std::string where{};  ///< path of the file, or a name for another origin
  std::vector<TrainingCase> training{};
  std::vector<InferenceCase> inference{};
  std::vector<RunCase> serving{};  ///< recorded server runs

  bool has(MeasurementKind kind) const;
};

/// Reads measurements; `where` names the text in errors. Throws an InputError that names the file, line and row. For a
/// file in the old, word-based schema, the message names the command that converts it.
MeasurementFile read_measurements(std::string_view text, const std::string& where);
MeasurementFile read_measurement_file(const std::string& path);

/// Removes rows of runs before the day `since` (first_day()). Returns the number of rows without a date, which are
/// removed too.
Count keep_since(MeasurementFile& file, const std::string& since);

/// Measurements shipped with the program. For inference, they include the recorded runs, which a fit also uses.
MeasurementFile published_measurements(MeasurementKind kind);

}  // namespace llmcalc
