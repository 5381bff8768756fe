#pragma once
/// Measurements: a JSON array of rows or JSON Lines, each row a request and what was measured of it:
/// evidence/rows/training_measurement.hpp, evidence/rows/inference_measurement.hpp,
/// evidence/rows/serving_measurement.hpp, by "command".

#include <string>
#include <string_view>
#include <vector>

#include "evidence/rows/inference_case.hpp"
#include "evidence/rows/run_case.hpp"
#include "evidence/rows/training_case.hpp"

namespace llmcalc {

enum class MeasurementKind { training, inference, serving };

struct MeasurementFile {
  std::string where{};  ///< the file's path, or what else it was read from
  std::vector<TrainingCase> training{};
  std::vector<InferenceCase> inference{};
  std::vector<RunCase> serving{};  ///< recorded runs of servers

  bool has(MeasurementKind kind) const;
};

/// `where` names the text in errors. Throws InputError with one sentence: file, line and row; for a file in the schema
/// of words that earlier versions had, with the command that converts it.
MeasurementFile read_measurements(std::string_view text, const std::string& where);
MeasurementFile read_measurement_file(const std::string& path);

/// The measurements that come with the program; with those of inference the recorded runs, which a fit sees, too.
MeasurementFile published_measurements(MeasurementKind kind);

}  // namespace llmcalc
