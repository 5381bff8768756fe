#include <fmt/format.h>

#include <array>
#include <set>

#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "cli/json_file.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "evidence/left_out.hpp"
#include "report/accuracy_report.hpp"
#include "text/error.hpp"
#include "text/names.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

AccuracyKind accuracy_kind(const std::string& said) {
  if (const auto kind = parse<AccuracyKind>(said)) return *kind;
  if (same_spelling(said, "serving"))
    throw InputError(
        "accuracy serving: recorded runs of servers cannot be compared yet; training, memory and inference can");
  throw InputError(fmt::format("accuracy: expected training, memory or inference, got {}", in_quotes(said)));
}

/// A file of measurements that the kind of prediction can be made for.
MeasurementFile suitable(const std::string& path, AccuracyKind kind) {
  MeasurementFile file = read_measurement_file(path);
  if (file.kind == rows_for(kind)) return file;
  const bool training = file.kind == MeasurementKind::training;
  throw InputError(fmt::format("{}: it has rows of {}; 'llmcalc accuracy {}' reads it", path,
                               training ? "training" : "inference",
                               training ? "training' or 'accuracy memory" : "inference"));
}

/// Moves the rows of one file behind those of others. A row is told from others by its id, in a report of several
/// files, too.
void join_rows(MeasurementFile& all, MeasurementFile next) {
  std::set<std::string_view> ids;
  for (const TrainingRow& r : all.training) ids.insert(r.id);
  for (const InferenceRow& r : all.inference) ids.insert(r.id);
  const auto check_id = [&](const std::string& id) {
    if (ids.contains(id))
      throw InputError(
          fmt::format("{}, row {}: {} has a row of that id too; ids are unique", next.where, in_quotes(id), all.where));
  };
  for (const TrainingRow& r : next.training) check_id(r.id);
  for (const InferenceRow& r : next.inference) check_id(r.id);
  all.where += ", " + next.where;
  for (TrainingRow& r : next.training) all.training.push_back(std::move(r));
  for (InferenceRow& r : next.inference) all.inference.push_back(std::move(r));
  all.unknown_keys.insert(all.unknown_keys.end(), next.unknown_keys.begin(), next.unknown_keys.end());
}

MeasurementFile measurements(const std::vector<std::string>& paths, AccuracyKind kind) {
  if (paths.empty()) return published_measurements(rows_for(kind));
  MeasurementFile all = suitable(paths[0], kind);
  for (std::size_t i = 1; i < paths.size(); ++i) join_rows(all, suitable(paths[i], kind));
  const std::set<std::string> unknown(all.unknown_keys.begin(), all.unknown_keys.end());
  all.unknown_keys.assign(unknown.begin(), unknown.end());
  return all;
}

Accuracy predicted(const MeasurementFile& file, AccuracyKind kind, ProgressLine& line) {
  return accuracy(file, kind, [&](Count done, Count all) {
    const double share = static_cast<double>(done) / static_cast<double>(all);
    line.show(fmt::format("row {} of {}{}", done + 1, all, left_text(line.seconds(), share)));
  });
}

AccuracyWatch told(ProgressLine& line, const char* what) {
  return [&line, what](Count done, Count all) {
    line.show(fmt::format("{} {} of {}{}", what, done + 1, all,
                          left_text(line.seconds(), static_cast<double>(done) / static_cast<double>(all))));
  };
}

/// Fits the estimator to the rows, puts its intervals to left-out families, and writes it.
void write_fit(const std::string& path, const MeasurementFile& file, Accuracy& a, ProgressLine& line) {
  const WholeFile probe(path);  // a folder where nothing can be written is found out now
  TrainingEstimator e;
  e.parameters = fitted(file, told(line, "fit: step"));
  leave_out(a, file, e.parameters, told(line, "fit without family"));
  e.intervals = intervals(a);
  e.fitted = fmt::format("{}, to {} steps of {}", today(), a.rows.size(), file.where);
  write_json(path, training_estimator_json(e));
}

const EstimatorTerm& term(const std::string& said) {
  std::string all;
  for (const EstimatorTerm& t : estimator_terms()) {
    if (same_spelling(said, t.name)) return t;
    all += (all.empty() ? "" : ", ") + std::string(t.name);
  }
  throw InputError(fmt::format("--without: expected a term of the estimator ({}), got {}", all, in_quotes(said)));
}

void check_fit(const Arguments& arguments, AccuracyKind kind) {
  for (const char* option : {"--fit", "--leave-out", "--without"})
    if (arguments.has(option) && kind != AccuracyKind::training)
      throw InputError(fmt::format("accuracy: {} is for training, whose estimator is fitted; leave it out", option));
}

int run_accuracy(const Arguments& arguments) {
  const AccuracyKind kind = accuracy_kind(arguments.word("KIND"));
  const std::vector<std::string> paths = arguments.words_from("FILE");
  check_fit(arguments, kind);
  stop_at_once();
  ProgressLine line("reading measurements");
  const MeasurementFile file = measurements(paths, kind);
  Accuracy a = predicted(file, kind, line);
  if (arguments.has("--fit"))
    write_fit(arguments.text("--fit"), file, a, line);
  else if (arguments.has("--without"))
    predict_again(a, file, fitted_without(file, term(arguments.text("--without")), told(line, "fit: step")));
  else if (arguments.has("--leave-out"))
    leave_out(a, file, training_estimator().parameters, told(line, "fit without family"));
  line.clear();
  return print(accuracy_report(a, {paths, file.unknown_keys, arguments.has("--rows")}), arguments.screen());
}

constexpr std::array accuracy_words{
    Word{"KIND", "training, memory or inference"},
    Word{.name = "FILE", .help = "files of measurements [those of the program]", .required = false, .repeats = true}};
constexpr std::array accuracy_options{
    Option{"--rows", "", "every row, with what it is about and what was assumed"},
    Option{"--leave-out", "", "each source predicted by parameters fitted to all others (minutes)"},
    Option{"--without", "TERM", "the estimator fitted without one of its terms: host, launch, fusion, links, ..."},
    Option{"--fit", "FILE",
           "fit the estimator to the rows and write it to FILE (minutes); the errors are those left out"}};

}  // namespace

const Command accuracy_command{
    .name = "accuracy",
    .arguments = "KIND [FILE ...]",
    .summary = "predictions and measurements",
    .about =
        "Predicts every row of a file of published measurements and sums up the errors: all rows, sources, GPUs, "
        "parallelism, precision, software. Without a file those that the program has. --json always has every row.",
    .examples =
        "  llmcalc accuracy training\n  llmcalc accuracy memory --rows\n"
        "  llmcalc accuracy inference mine.json others.json --json",
    .words = accuracy_words,
    .own = accuracy_options,
    .parts = part::styles,
    .run = run_accuracy};

}  // namespace llmcalc
