#include "evidence/rows/measurement_file.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "evidence/rows/inference_measurement.hpp"
#include "evidence/rows/json_rows.hpp"
#include "evidence/rows/published.hpp"
#include "evidence/rows/serving_measurement.hpp"
#include "evidence/rows/training_measurement.hpp"
#include "text/date.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Whether a row has the old schema: no "command", but a model or a server run.
bool is_old(const json::Value& row) {
  return row.is_object() && !row.contains("command") && (row.contains("model") || row.contains("requests"));
}

[[noreturn]] void refuse_old(const std::string& at, const std::string& file) {
  throw InputError(fmt::format(
      "{}: no \"command\": this file has the schema of earlier versions; 'llmcalc accuracy convert {} NEW' converts it",
      at, shell_word(file)));
}

class MeasurementReader {
 public:
  explicit MeasurementReader(const std::string& where) { file_.where = where; }

  void read(const json::Value& value, Count line) {
    const std::string at = fmt::format("{}:{}", file_.where, line);
    if (is_old(value)) refuse_old(at, file_.where);
    const json::Object named(value, at);
    const std::string id = named.text_or("id", "");
    if (id.empty()) throw InputError(at + ": \"id\" is missing; every row needs a unique id");
    if (const auto [first, fresh] = seen_.emplace(id, line); !fresh)
      throw InputError(fmt::format("{}, row {}: line {} has a row with the same id; ids must be unique", at,
                                   in_quotes(id), first->second));
    add(value, fmt::format("{}, row {}", at, in_quotes(id)));
  }

  MeasurementFile file() { return std::move(file_); }

 private:
  void add(const json::Value& value, const std::string& where) {
    const json::Object row(value, where);
    const std::string command = row.text("command");
    if (command == "train") return file_.training.push_back(read_training_measurement(row, where));
    if (command == "infer") return file_.inference.push_back(read_inference_measurement(row, where));
    if (command == "serve") return file_.serving.push_back(read_serving_measurement(row, where));
    throw InputError(fmt::format("{}, \"command\": expected train, infer or serve, got {}", where, in_quotes(command)));
  }

  MeasurementFile file_;
  std::unordered_map<std::string, Count> seen_;
};

}  // namespace

bool MeasurementFile::has(MeasurementKind kind) const {
  if (kind == MeasurementKind::training) return !training.empty();
  return kind == MeasurementKind::inference ? !inference.empty() : !serving.empty();
}

MeasurementFile read_measurements(std::string_view text, const std::string& where) {
  MeasurementReader reader(where);
  for_each_row(text, where, [&](const json::Value& row, Count line) { reader.read(row, line); });
  return reader.file();
}

MeasurementFile read_measurement_file(const std::string& path) {
  return read_measurements(json::file_text(path), path);
}

MeasurementFile published_measurements(MeasurementKind kind) {
  MeasurementFile file;
  if (kind == MeasurementKind::training)
    file = read_measurements(published_text("training.jsonl"), "published training measurements");
  if (kind == MeasurementKind::inference)
    file = read_measurements(published_text("inference.jsonl"), "published inference measurements");
  if (kind == MeasurementKind::serving) file.where = "published serving runs";
  if (kind != MeasurementKind::training)
    file.serving = read_measurements(published_text("serving.jsonl"), "published serving runs").serving;
  return file;
}

Count keep_since(MeasurementFile& file, const std::string& since) {
  Count undated = 0;
  const auto is_earlier = [&](const auto& c) {
    const std::string& date = c.head.date;
    undated += date.empty();
    return date.empty() || first_day(date) < since;
  };
  std::erase_if(file.training, is_earlier);
  std::erase_if(file.inference, is_earlier);
  std::erase_if(file.serving, is_earlier);
  return undated;
}

}  // namespace llmcalc
