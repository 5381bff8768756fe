#pragma once
/// Published measurements: a JSON array of rows, all of training or all of inference, or recorded runs of servers.

#include <string>
#include <string_view>
#include <vector>

#include "evidence/inference_row.hpp"
#include "evidence/recorded_run.hpp"
#include "evidence/training_row.hpp"

namespace llmcalc {

enum class MeasurementKind { training, inference, serving };

struct MeasurementFile {
  std::string where;  ///< the file's path, or what else it was read from
  MeasurementKind kind = MeasurementKind::training;
  std::vector<TrainingRow> training;
  std::vector<InferenceRow> inference;
  std::vector<RecordedRun> serving;       ///< beside rows of inference: runs that a fit to these sees, too
  std::vector<std::string> unknown_keys;  ///< "measured.new_key": once each, of no consequence
};

/// Reads rows, or one recorded run, from a text; `where` names it in errors. Throws InputError with one sentence: file,
/// line and row.
MeasurementFile read_measurements(std::string_view text, const std::string& where);
MeasurementFile read_measurement_file(const std::string& path);
/// The measurements that are compiled into the program.
MeasurementFile published_measurements(MeasurementKind kind);

}  // namespace llmcalc
