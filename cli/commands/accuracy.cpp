#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>
#include <span>

#include "ask/request/options/options.hpp"
#include "cli/command.hpp"
#include "cli/commands/accuracy.hpp"
#include "cli/out_file.hpp"
#include "cli/output.hpp"
#include "cli/pictures.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "evidence/convert/convert.hpp"
#include "evidence/profile/operator_table.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "presets/load.hpp"
#include "report/accuracy_report.hpp"
#include "text/counted.hpp"
#include "text/date.hpp"
#include "text/error.hpp"
#include "text/file_exists.hpp"
#include "text/names.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {

AccuracyKind accuracy_kind(const std::string& said) {
  if (const auto kind = parse<AccuracyKind>(said)) return *kind;
  throw InputError(fmt::format("accuracy: expected training, memory, inference, serving, convert or a file, got {}",
                               in_quotes(said)));
}

namespace {

/// Reads a measurement file. Throws InputError if it has no rows for this kind of prediction.
MeasurementFile suitable(const std::string& path, std::optional<AccuracyKind> kind) {
  MeasurementFile file = read_measurement_file(path);
  if (!kind || file.has(rows_for(*kind))) return file;
  constexpr std::array what{"training", "inference", "recorded serving runs"};
  throw InputError(fmt::format("{}: no rows of {}", path, what[static_cast<std::size_t>(rows_for(*kind))]));
}

/// Appends the rows of one file. Row ids must be unique across all files of a report.
void join_rows(MeasurementFile& all, MeasurementFile next) {
  std::set<std::string_view> ids;
  for (const TrainingCase& c : all.training) ids.insert(c.head.id);
  for (const InferenceCase& c : all.inference) ids.insert(c.head.id);
  for (const RunCase& c : all.serving) ids.insert(c.head.id);
  const auto check_id = [&](const std::string& id) {
    if (ids.contains(id))
      throw InputError(fmt::format("{}, row {}: {} has a row with the same id; ids must be unique", next.where,
                                   in_quotes(id), all.where));
  };
  for (const TrainingCase& c : next.training) check_id(c.head.id);
  for (const InferenceCase& c : next.inference) check_id(c.head.id);
  for (const RunCase& c : next.serving) check_id(c.head.id);
  all.where += ", " + next.where;
  for (TrainingCase& c : next.training) all.training.push_back(std::move(c));
  for (InferenceCase& c : next.inference) all.inference.push_back(std::move(c));
  for (RunCase& c : next.serving) all.serving.push_back(std::move(c));
}

}  // namespace

MeasurementFile measurements(const std::vector<std::string>& paths, std::optional<AccuracyKind> kind) {
  MeasurementFile all = suitable(paths[0], kind);
  for (std::size_t i = 1; i < paths.size(); ++i) join_rows(all, suitable(paths[i], kind));
  return all;
}

Accuracy predicted(const MeasurementFile& file, std::optional<AccuracyKind> kind, const ReplayBasis& basis,
                   ProgressLine& line) {
  const auto watch = [&](Count done, Count all) {
    const double share = static_cast<double>(done) / static_cast<double>(all);
    line.show(fmt::format("row {} of {}{}", done + 1, all, left_text(line.seconds(), share)));
  };
  return accuracy(file, kind, watch, basis);
}

namespace {

/// Basis for replays, set by options that apply only to replays.
ReplayBasis basis_of(const Arguments& arguments, std::optional<AccuracyKind> kind) {
  for (const char* option : {"--tables", "--hardware"})
    if (arguments.has(option) && kind != AccuracyKind::serving)
      throw InputError(fmt::format("accuracy: {} applies only to serving, which replays runs; omit it", option));
  ReplayBasis basis;
  if (arguments.has("--hardware")) basis.hardware = load_hardware(arguments.text("--hardware"));
  if (arguments.has("--tables")) basis.tables = read_operator_tables(arguments.text("--tables"));
  return basis;
}

/// Whether a file begins with a measurement as 'accuracy convert' writes it: without spaces, and with these keys.
bool is_converted(const std::string& path) {
  const std::string text = json::file_text(path), line = text.substr(0, text.find('\n'));
  const json::Value row = json::parse(line, path);
  return row.is_object() && row.dump() == line && row.contains("id") && row.contains("stated");
}

/// Runs "accuracy convert OLD NEW".
int run_convert(const std::vector<std::string>& paths, bool force) {
  if (paths.size() != 2) throw InputError("'llmcalc accuracy convert' takes two files, OLD and NEW");
  check_out({paths[1], "NEW", "a file of measurements", is_converted}, force);
  const Converted all = convert(json::file_text(paths[0]), paths[0]);
  std::string text;
  for (const json::Value& row : all.rows) text += row.dump() + "\n";
  WholeFile out(paths[1]);
  out.write(std::as_bytes(std::span(text)));
  out.finish();
  for (const Unconverted& u : all.unconverted) say(fmt::format("llmcalc: note: row {}: {}", in_quotes(u.id), u.reason));
  if (!all.unknown_keys.empty())
    say(fmt::format("llmcalc: note: unknown keys are kept under \"stated\": {}", fmt::join(all.unknown_keys, ", ")));
  say(fmt::format("{}: {} rows, {} without a request", paths[1], all.rows.size(), all.unconverted.size()));
  return 0;
}

/// The day of --since: a date, or the day of the kind's fit.
std::string since_of(const std::string& said, std::optional<AccuracyKind> kind) {
  if (said != "fit") {
    if (is_date(said)) return first_day(said);
    throw InputError(
        fmt::format("--since: expected a date such as 2026-03-28 or 2026-03, or fit, got {}", in_quotes(said)));
  }
  if (!kind || *kind == AccuracyKind::serving)
    throw InputError("--since fit: only training, memory and inference have a fit; name one of them, or pass a date");
  const bool inference = *kind == AccuracyKind::inference;
  return leading_date(inference ? inference_estimator().fitted : training_estimator().fitted).value();
}

/// Keeps the rows of runs since --since. Throws InputError if there are none.
void keep_recent(const Arguments& arguments, std::optional<AccuracyKind> kind, MeasurementFile& file) {
  if (!arguments.has("--since")) return;
  const std::string since = since_of(arguments.text("--since"), kind);
  const Count undated = keep_since(file, since);
  if (file.training.empty() && file.inference.empty() && file.serving.empty())
    throw InputError(
        fmt::format("{}: no row has a date of {} or later{}; pass newer measurements or an earlier --since", file.where,
                    since, undated > 0 ? fmt::format(" ({} without a date)", undated) : ""));
  if (undated > 0) say(fmt::format("llmcalc: note: {} without a date omitted", counted(undated, "row")));
}

int run_accuracy(const Arguments& arguments) {
  std::vector<std::string> paths = arguments.words_from("KIND");
  if (paths.empty())
    throw InputError("'llmcalc accuracy' needs a KIND (training, memory, inference or serving) or a FILE");
  stop_at_once();
  const std::string first = paths[0];
  std::optional<AccuracyKind> kind = parse<AccuracyKind>(first);
  if (first == "convert" || kind) paths.erase(paths.begin());
  if (first == "convert") return run_convert(paths, arguments.has("--force"));
  const bool drawn = wants_pictures(arguments);
  if (drawn) check_pictures(arguments);
  if (arguments.has("--force") && !drawn)
    throw InputError("--force applies only to accuracy convert, --html and --out; omit it");
  if (!kind && !file_exists(first)) kind = accuracy_kind(first);
  const ReplayBasis basis = basis_of(arguments, kind);
  ProgressLine line("reading measurements");
  MeasurementFile file = paths.empty() ? published_measurements(rows_for(*kind)) : measurements(paths, kind);
  keep_recent(arguments, kind, file);
  const Accuracy a = predicted(file, kind, basis, line);
  line.clear();
  const Report report = accuracy_report(a, {paths, drawn || arguments.has("--rows")});
  return drawn ? draw(report, arguments) : print(report, screen_of(arguments));
}

constexpr std::array accuracy_words{
    Word{.name = "KIND",
         .help = "training, memory, inference or serving; convert migrates a file OLD from an earlier version to NEW "
                 "[each row with its own command]",
         .required = false},
    Word{.name = "FILE", .help = "measurement files [the built-in ones]", .required = false, .repeats = true}};
constexpr std::array accuracy_options{
    Option{"--rows", "", "list every row, with its subject and assumptions"},
    Option{"--since", "DATE",
           "only runs since a date (2026-03-28, 2026-03), or since the fit of the estimates (fit): a blind test"},
    Option{"--tables", "DIR", "serving: layer times from operator tables, in the format of calibrate --from"},
    Option{"--hardware", "HW", "serving: preset or hardware file to use instead of the recorded device"}};

}  // namespace

const Command accuracy_command{
    .name = "accuracy",
    .arguments = "[KIND] [FILE ...]",
    .summary = "predictions against measurements",
    .about =
        "Predicts every row of a file of published measurements and summarizes the errors: overall and by source, GPU, "
        "parallelism, precision and software. Without a file, uses the built-in measurements. --json always includes "
        "every row. serving replays recorded serving runs and shows times, rates and throughput over time next to the "
        "recorded values.",
    .examples =
        "  llmcalc accuracy training\n  llmcalc accuracy memory --rows\n"
        "  llmcalc accuracy mine.jsonl others.json --json\n  llmcalc accuracy convert old.json new.jsonl\n"
        "  llmcalc accuracy serving --tables evidence/operators/rtx-pro-6000",
    .words = accuracy_words,
    .own = accuracy_options,
    .parts = part::styles | part::pictures | part::records | part::files,
    .keys = "inputs conventions rows skipped summary throughput",
    .run = run_accuracy};

}  // namespace llmcalc
