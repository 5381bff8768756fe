#pragma once
/// The published rows by id, read once.

#include <algorithm>

#include "evidence/device_name.hpp"
#include "evidence/inference_case.hpp"
#include "evidence/measurement_file.hpp"
#include "evidence/training_case.hpp"

namespace llmcalc::test {

inline const std::vector<TrainingRow>& training_rows() {
  static const auto rows = published_measurements(MeasurementKind::training).training;
  return rows;
}
inline const std::vector<InferenceRow>& inference_rows() {
  static const auto rows = published_measurements(MeasurementKind::inference).inference;
  return rows;
}
template <typename Row>
const Row& row_called(const std::vector<Row>& rows, std::string_view id) {
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.id == id; });
}
inline const Devices& devices_once() {
  static const Devices devices;
  return devices;
}
inline TrainingCase training_case_called(const char* id) {
  return training_case(row_called(training_rows(), id), devices_once());
}

/// A row of Llama-3.1-8B on one H100 under 32 clients, which tests change.
inline InferenceRow llama_row() {
  return row_called(inference_rows(), "nvgap-llama-3.1-8b-h100-sxm-trtllm-bf16-tp1-i1024-o128-c32");
}
inline InferenceCase read(const InferenceRow& row) { return inference_case(row, devices_once()); }

}  // namespace llmcalc::test
