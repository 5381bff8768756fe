#include <fmt/format.h>

#include <array>
#include <set>

#include "ask/request/options.hpp"
#include "cli/command.hpp"
#include "cli/commands/accuracy.hpp"
#include "cli/commands/ask.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "evidence/profile/operator_table.hpp"
#include "presets/load.hpp"
#include "report/accuracy_report.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

AccuracyKind accuracy_kind(const std::string& said) {
  if (const auto kind = parse<AccuracyKind>(said)) return *kind;
  throw InputError(fmt::format("accuracy: expected training, memory, inference or serving, got {}", in_quotes(said)));
}

namespace {

/// A file of measurements that the kind of prediction can be made for.
MeasurementFile suitable(const std::string& path, AccuracyKind kind) {
  MeasurementFile file = read_measurement_file(path);
  if (file.kind == rows_for(kind)) return file;
  constexpr std::array what{"rows of training", "rows of inference", "a server's requests"};
  constexpr std::array command{"training' or 'accuracy memory", "inference", "serving"};
  const auto is = static_cast<std::size_t>(file.kind);
  throw InputError(fmt::format("{}: it has {}; 'llmcalc accuracy {}' reads it", path, what[is], command[is]));
}

/// Moves the rows of one file behind those of others. A row is told from others by its id, in a report of several
/// files, too.
void join_rows(MeasurementFile& all, MeasurementFile next) {
  std::set<std::string_view> ids;
  for (const TrainingRow& r : all.training) ids.insert(r.id);
  for (const InferenceRow& r : all.inference) ids.insert(r.id);
  for (const RecordedRun& r : all.serving) ids.insert(r.name);
  const auto check_id = [&](const std::string& id) {
    if (ids.contains(id))
      throw InputError(
          fmt::format("{}, row {}: {} has a row of that id too; ids are unique", next.where, in_quotes(id), all.where));
  };
  for (const TrainingRow& r : next.training) check_id(r.id);
  for (const InferenceRow& r : next.inference) check_id(r.id);
  for (const RecordedRun& r : next.serving) check_id(r.name);
  all.where += ", " + next.where;
  for (TrainingRow& r : next.training) all.training.push_back(std::move(r));
  for (InferenceRow& r : next.inference) all.inference.push_back(std::move(r));
  for (RecordedRun& r : next.serving) all.serving.push_back(std::move(r));
  all.unknown_keys.insert(all.unknown_keys.end(), next.unknown_keys.begin(), next.unknown_keys.end());
}

}  // namespace

MeasurementFile measurements(const std::vector<std::string>& paths, AccuracyKind kind) {
  if (paths.empty()) return published_measurements(rows_for(kind));
  MeasurementFile all = suitable(paths[0], kind);
  for (std::size_t i = 1; i < paths.size(); ++i) join_rows(all, suitable(paths[i], kind));
  const std::set<std::string> unknown(all.unknown_keys.begin(), all.unknown_keys.end());
  all.unknown_keys.assign(unknown.begin(), unknown.end());
  return all;
}

Accuracy predicted(const MeasurementFile& file, AccuracyKind kind, const ReplayBasis& basis, ProgressLine& line) {
  const auto watch = [&](Count done, Count all) {
    const double share = static_cast<double>(done) / static_cast<double>(all);
    line.show(fmt::format("row {} of {}{}", done + 1, all, left_text(line.seconds(), share)));
  };
  return accuracy(file, kind, watch, basis);
}

namespace {

/// The times that a replay uses, from the options that replays alone have.
ReplayBasis basis_of(const Arguments& arguments, AccuracyKind kind) {
  for (const char* option : {"--tables", "--hardware"})
    if (arguments.has(option) && kind != AccuracyKind::serving)
      throw InputError(fmt::format("accuracy: {} is for serving, whose runs are replayed; leave it out", option));
  ReplayBasis basis;
  if (arguments.has("--hardware")) basis.hardware = load_hardware(arguments.text("--hardware"));
  if (arguments.has("--tables")) basis.tables = read_operator_tables(arguments.text("--tables"));
  return basis;
}

int run_accuracy(const Arguments& arguments) {
  const AccuracyKind kind = accuracy_kind(arguments.word("KIND"));
  const std::vector<std::string> paths = arguments.words_from("FILE");
  stop_at_once();
  const ReplayBasis basis = basis_of(arguments, kind);
  ProgressLine line("reading measurements");
  const MeasurementFile file = measurements(paths, kind);
  const Accuracy a = predicted(file, kind, basis, line);
  line.clear();
  return print(accuracy_report(a, {paths, file.unknown_keys, arguments.has("--rows")}), arguments.screen());
}

constexpr std::array accuracy_words{
    Word{"KIND", "training, memory, inference or serving"},
    Word{.name = "FILE", .help = "files of measurements [those of the program]", .required = false, .repeats = true}};
constexpr std::array accuracy_options{
    Option{"--rows", "", "every row, with what it is about and what was assumed"},
    Option{"--tables", "DIR", "serving: times of layers from tables of operators, as calibrate --from reads them"},
    Option{"--hardware", "HW", "serving: a preset or hardware file in place of the recorded device"}};

}  // namespace

const Command accuracy_command{
    .name = "accuracy",
    .arguments = "KIND [FILE ...]",
    .summary = "predictions and measurements",
    .about =
        "Predicts every row of a file of published measurements and sums up the errors: all rows, sources, GPUs, "
        "parallelism, precision, software. Without a file those that the program has. --json always has every row. "
        "serving "
        "replays recorded runs of servers and shows times, rates and throughput over time beside the recorded ones.",
    .examples =
        "  llmcalc accuracy training\n  llmcalc accuracy memory --rows\n"
        "  llmcalc accuracy inference mine.json others.json --json\n"
        "  llmcalc accuracy serving --tables evidence/operators/rtx-pro-6000",
    .words = accuracy_words,
    .own = accuracy_options,
    .parts = part::styles,
    .run = run_accuracy};

}  // namespace llmcalc
