#pragma once
/// The published rows by id, loaded once: as requests, and in the old schema as the converter's input.

#include <algorithm>

#include "evidence/convert/inference/inference_conversion.hpp"
#include "evidence/convert/old_check.hpp"
#include "evidence/convert/old_file.hpp"
#include "evidence/convert/run_conversion.hpp"
#include "evidence/convert/training/training_conversion.hpp"
#include "evidence/names/device_name.hpp"
#include "evidence/rows/json_rows.hpp"
#include "evidence/rows/measurement_file.hpp"
#include "evidence/rows/published.hpp"

namespace llmcalc::test {

/// A converted row in the old schema: its stated values, with the keys that both schemas have.
inline json::Value in_old_schema(const json::Value& row) {
  json::Value old = row.at("stated");
  std::vector<const char*> keys{"id", "source"};
  if (row.at("command") == "train") keys.insert(keys.end(), {"family", "quality"});
  for (const char* key : keys)
    if (row.contains(key) && !old.contains(key)) old[key] = row.at(key);
  return old;
}

inline OldFile old_file(std::string_view name) {
  json::Value rows = json::Value::array();
  for_each_row(published_text(name), std::string(name),
               [&](const json::Value& row, Count) { rows.push_back(in_old_schema(row)); });
  return read_old_file(rows.dump(), std::string(name));
}

inline const std::vector<TrainingRow>& training_rows() {
  static const auto rows = old_file("training.jsonl").training;
  return rows;
}
inline const std::vector<InferenceRow>& inference_rows() {
  static const auto rows = old_file("inference.jsonl").inference;
  return rows;
}

/// The cases for a text in the old schema. Throws InputError.
inline MeasurementFile read_old(std::string_view text, const std::string& where) {
  const OldFile old = read_old_file(text, where);
  const Devices devices;
  MeasurementFile file{.where = where};
  for (const TrainingRow& row : old.training) {
    file.training.push_back(training_case(row, devices));
    if (file.training.back().skip.empty()) drop_incomplete(row, file.training.back());
  }
  for (const InferenceRow& row : old.inference) {
    file.inference.push_back(inference_case(row, devices));
    if (file.inference.back().skip.empty()) drop_incomplete(row, file.inference.back());
  }
  for (const RecordedRun& run : old.serving) file.serving.push_back(run_case(run, devices));
  return file;
}

/// Recorded runs in the old schema.
inline const std::vector<RecordedRun>& old_runs() {
  static const std::vector<RecordedRun> all = [] {
    std::vector<RecordedRun> runs;
    for_each_row(published_text("serving.jsonl"), "serving.jsonl", [&](const json::Value& row, Count) {
      json::Value old = in_old_schema(row);
      old["name"] = row.at("id");
      old.erase("id");
      for (const char* key : {"requests", "per_second"}) old[key] = row.at(key);
      runs.push_back(read_recorded_run(old.dump(), "serving.jsonl"));
    });
    return runs;
  }();
  return all;
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

/// A row of Llama-3.1-8B on one H100 with 32 clients, for tests to modify.
inline InferenceRow llama_row() {
  return row_called(inference_rows(), "nvgap-llama-3.1-8b-h100-sxm-trtllm-bf16-tp1-i1024-o128-c32");
}
inline InferenceCase read(const InferenceRow& row) { return inference_case(row, devices_once()); }

}  // namespace llmcalc::test
