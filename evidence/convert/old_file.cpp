#include "evidence/convert/old_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "evidence/convert/training/training_row.hpp"
#include "evidence/rows/json_rows.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool holds_key(const json::Value& row, const char* key) {
  const auto found = row.is_object() ? row.find(key) : row.end();
  return row.is_object() && found != row.end() && !found->is_null();
}

/// Kind of a row, if its keys determine it.
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

/// Reads rows one by one and collects their contents.
class OldRows {
 public:
  OldRows(OldFile& file, const std::vector<Count>& lines) : file_(file), lines_(lines) {}

  void read(const json::Value& value, std::size_t i) {
    const std::string at = fmt::format("{}:{}", file_.where, lines_[i]);
    const std::string id = id_of(value, at);
    if (const auto [first, fresh] = seen_.emplace(id, lines_[i]); !fresh)
      throw InputError(fmt::format("{}, row {}: line {} has a row with the same id; ids must be unique", at,
                                   in_quotes(id), first->second));
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
    if (id.empty()) throw InputError(at + ": \"id\" is missing; every row needs a unique id");
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
      throw InputError(fmt::format("{}: a row of {} among rows of {}; use a separate file for each", where,
                                   spoken_kind(*kind), spoken_kind(file_.kind)));
  }

  static void refuse_missing(const RowObject& row) {
    for (const char* key : {"model", "hardware", "measured"})
      if (!row.has(key)) throw InputError(fmt::format("{}: \"{}\" is missing", row.where(), key));
  }

  OldFile& file_;
  const std::vector<Count>& lines_;
  UnknownKeys unknown_;
  std::unordered_map<std::string, Count> seen_;
};

}  // namespace

namespace {

/// Number of the line, from 1, on which the text's outermost value begins.
Count begin_line(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
}

bool is_recorded_run(const json::Value& whole) { return whole.is_object() && whole.contains("requests"); }

OldFile file_of(RecordedRun run) {
  OldFile file;
  file.where = run.where;
  file.kind = MeasurementKind::serving;
  file.unknown_keys = run.unknown_keys;
  file.serving.push_back(std::move(run));
  return file;
}

}  // namespace

OldFile read_old_file(std::string_view text, const std::string& where) {
  const json::Value list = json::parse(text, where);
  if (is_recorded_run(list)) return file_of(read_recorded_run(text, where));
  const std::string at = fmt::format("{}:{}", where, begin_line(text));
  if (!list.is_array())
    throw InputError(at +
                     ": expected a list of rows in square brackets or a recorded run in braces, with \"requests\"");
  if (list.empty()) throw InputError(at + ": the list is empty; a file of measurements has at least one row");
  OldFile file;
  file.where = where;
  const std::vector<Count> lines = element_lines(text);
  OldRows rows(file, lines);
  for (std::size_t i = 0; i < list.size(); ++i) rows.read(list[i], i);
  rows.finish();
  return file;
}

}  // namespace llmcalc
