#include "evidence/measurement_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "evidence/published.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Walks through a text that is JSON and finds where the elements of its outermost array begin.
class Elements {
 public:
  explicit Elements(std::string_view text) {
    for (const char c : text) step(c);
  }
  /// Lines from 1, one per element.
  std::vector<Count> lines;

 private:
  void step(char c) {
    if (c == '\n') ++line_;
    if (in_string_) return inside_string(c);
    if (depth_ == 1 && awaited_ && c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != ']') {
      lines.push_back(line_);
      awaited_ = false;
    }
    if (c == '"') in_string_ = true;
    if (c == '[' || c == '{') awaited_ = ++depth_ == 1;
    if (c == ']' || c == '}') --depth_;
    if (c == ',' && depth_ == 1) awaited_ = true;
  }
  void inside_string(char c) {
    if (!escaped_ && c == '"') in_string_ = false;
    escaped_ = !escaped_ && c == '\\';
  }

  Count line_ = 1, depth_ = 0;
  bool in_string_ = false, escaped_ = false, awaited_ = false;
};

bool holds_key(const json::Value& row, const char* key) {
  const auto found = row.is_object() ? row.find(key) : row.end();
  return row.is_object() && found != row.end() && !found->is_null();
}

/// The kind that a row's keys tell; nothing: they tell none.
std::optional<MeasurementKind> kind_of(const json::Value& row) {
  const bool arch = holds_key(row, "model") && holds_key(row["model"], "arch");
  const bool accelerator = holds_key(row, "hardware") && holds_key(row["hardware"], "accelerator");
  if (arch || accelerator || holds_key(row, "quantization") || holds_key(row, "engine"))
    return MeasurementKind::inference;
  const bool layers = holds_key(row, "model") && holds_key(row["model"], "layers");
  const bool gpu = holds_key(row, "hardware") && holds_key(row["hardware"], "gpu");
  if (layers || gpu || holds_key(row, "recompute") || holds_key(row, "precision")) return MeasurementKind::training;
  return std::nullopt;
}

std::string_view spoken_kind(MeasurementKind k) { return k == MeasurementKind::training ? "training" : "inference"; }

/// Reads rows one by one and remembers what was in them.
class Rows {
 public:
  Rows(MeasurementFile& file, const std::vector<Count>& lines) : file_(file), lines_(lines) {}

  void read(const json::Value& value, std::size_t i) {
    const std::string at = fmt::format("{}:{}", file_.where, lines_[i]);
    const std::string id = id_of(value, at);
    if (const auto [first, fresh] = seen_.emplace(id, lines_[i]); !fresh)
      throw InputError(fmt::format("{}, row {}: line {} has a row of that id too; ids are unique", at, in_quotes(id),
                                   first->second));
    const std::string where = fmt::format("{}, row {}", at, in_quotes(id));
    check_kind(value, where, i == 0);
    const json::Object object(value, where);
    const RowObject row(object, "", unknown_);
    row.known({"id"});
    refuse_missing(row);
    if (file_.kind == MeasurementKind::training)
      file_.training.push_back(read_training_row(row, id));
    else
      file_.inference.push_back(read_inference_row(row, id));
  }

  void finish() { file_.unknown_keys.assign(unknown_.begin(), unknown_.end()); }

 private:
  static std::string id_of(const json::Value& value, const std::string& at) {
    const json::Object row(value, at);
    const std::string id = row.text_or("id", "");
    if (id.empty()) throw InputError(at + ": \"id\" is missing; a row is told from others by it");
    return id;
  }

  void check_kind(const json::Value& value, const std::string& where, bool first) {
    const auto kind = kind_of(value);
    if (!kind)
      throw InputError(
          where +
          ": neither a measurement of training (\"model\" with \"layers\", \"hardware\" with \"gpu\") nor of "
          "inference (\"model\" with \"arch\", \"hardware\" with \"accelerator\")");
    if (first) file_.kind = *kind;
    if (*kind != file_.kind)
      throw InputError(fmt::format("{}: a row of {} among rows of {}; make a file of each", where, spoken_kind(*kind),
                                   spoken_kind(file_.kind)));
  }

  static void refuse_missing(const RowObject& row) {
    for (const char* key : {"model", "hardware", "measured"})
      if (!row.has(key)) throw InputError(fmt::format("{}: \"{}\" is missing", row.where(), key));
  }

  MeasurementFile& file_;
  const std::vector<Count>& lines_;
  UnknownKeys unknown_;
  std::unordered_map<std::string, Count> seen_;
};

}  // namespace

namespace {

/// The line, from 1, on which a text's outermost value begins.
Count begin_line(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
}

bool is_recorded_run(const json::Value& whole) { return whole.is_object() && whole.contains("requests"); }

MeasurementFile file_of(RecordedRun run) {
  MeasurementFile file;
  file.where = run.where;
  file.kind = MeasurementKind::serving;
  file.unknown_keys = run.unknown_keys;
  file.serving.push_back(std::move(run));
  return file;
}

MeasurementFile published_servings() {
  MeasurementFile file;
  file.where = "published runs of servers";
  file.kind = MeasurementKind::serving;
  file.serving = published_runs();
  return file;
}

}  // namespace

MeasurementFile read_measurements(std::string_view text, const std::string& where) {
  const json::Value list = json::parse(text, where);
  if (is_recorded_run(list)) return file_of(read_recorded_run(text, where));
  const std::string at = fmt::format("{}:{}", where, begin_line(text));
  if (!list.is_array())
    throw InputError(at +
                     ": expected a list of rows in square brackets or a recorded run in braces, with \"requests\"");
  if (list.empty()) throw InputError(at + ": the list is empty; a file of measurements has at least one row");
  MeasurementFile file;
  file.where = where;
  const Elements elements(text);
  Rows rows(file, elements.lines);
  for (std::size_t i = 0; i < list.size(); ++i) rows.read(list[i], i);
  rows.finish();
  return file;
}

MeasurementFile read_measurement_file(const std::string& path) {
  return read_measurements(json::file_text(path), path);
}

MeasurementFile published_measurements(MeasurementKind kind) {
  if (kind == MeasurementKind::serving) return published_servings();
  const bool training = kind == MeasurementKind::training;
  MeasurementFile file =
      read_measurements(published_text(training ? "training.json" : "inference.json"),
                        training ? "published training measurements" : "published inference measurements");
  if (!training) file.serving = published_runs();
  return file;
}

}  // namespace llmcalc
