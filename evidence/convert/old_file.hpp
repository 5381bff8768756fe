#pragma once
/// Measurements in the old schema: rows described in words, which the converter rewrites as requests.

#include <string>
#include <string_view>
#include <vector>

#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/recorded_run.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/rows/measurement_file.hpp"

namespace llmcalc {

struct OldFile {
  std::string where;  ///< path of the file, or a name for another origin
  MeasurementKind kind = MeasurementKind::training;
  std::vector<TrainingRow> training;
  std::vector<InferenceRow> inference;
  std::vector<RecordedRun> serving;
  std::vector<std::string> unknown_keys;  ///< such as "measured.new_key", once each; ignored
};

/// Reads rows, or one recorded run, from text. `where` names it in errors. Throws an InputError that names the file,
/// line and row.
OldFile read_old_file(std::string_view text, const std::string& where);

}  // namespace llmcalc
