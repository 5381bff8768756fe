#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "ask/request/options.hpp"
#include "cli/command.hpp"
#include "cli/commands/ask.hpp"
#include "cli/json_file.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "evidence/fit/left_out.hpp"
#include "evidence/fit/once_measured.hpp"
#include "evidence/profile/operator_table.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "presets/load.hpp"
#include "report/accuracy_report.hpp"
#include "text/error.hpp"
#include "text/file_exists.hpp"
#include "text/names.hpp"
#include "text/whole_file.hpp"

namespace llmcalc {
namespace {

using namespace std::string_view_literals;

AccuracyKind accuracy_kind(const std::string& said) {
  if (const auto kind = parse<AccuracyKind>(said)) return *kind;
  throw InputError(fmt::format("accuracy: expected training, memory, inference or serving, got {}", in_quotes(said)));
}

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

/// The times that a replay uses, from the options that replays alone have.
ReplayBasis basis_of(const Arguments& arguments, AccuracyKind kind) {
  const bool narrows_fit = kind == AccuracyKind::inference && arguments.has("--fit");
  for (const char* option : {"--tables", "--hardware"})
    if (arguments.has(option) && kind != AccuracyKind::serving && !(narrows_fit && option == "--tables"sv))
      throw InputError(fmt::format("accuracy: {} is for serving, whose runs are replayed{}; leave it out", option,
                                   option == "--tables"sv ? ", and for inference with --fit" : ""));
  ReplayBasis basis;
  if (arguments.has("--hardware")) basis.hardware = load_hardware(arguments.text("--hardware"));
  if (arguments.has("--tables")) basis.tables = read_operator_tables(arguments.text("--tables"));
  return basis;
}

AccuracyWatch told(ProgressLine& line, const char* what) {
  return [&line, what](Count done, Count all) {
    line.show(fmt::format("{} {} of {}{}", what, done + 1, all,
                          left_text(line.seconds(), static_cast<double>(done) / static_cast<double>(all))));
  };
}

/// Names of the devices that rows were measured on, in order, each once.
std::vector<std::string> devices_of(const Accuracy& a) {
  std::set<std::string> names;
  for (const PredictedRow& r : a.rows) names.insert(r.of.gpu);
  return {names.begin(), names.end()};
}

/// Puts the values, and what left-out rows said, into an estimator.
template <typename Estimate, typename Class>
Estimate estimator(std::span<const double> values, const Accuracy& left_out, const IntervalsByClass& once_measured,
                   std::string how) {
  Estimate e;
  std::copy(values.begin(), values.end(), e.parameters.values().begin());
  e.fitted = std::move(how);
  e.devices = devices_of(left_out);
  e.intervals = in_order<Class>(intervals(left_out));
  e.intervals_once_measured = in_order<Class>(once_measured);
  return e;
}

/// The intervals of times from the operators' tables, where there are some.
IntervalsByClass with_tables(const ReplayBasis& basis, const Accuracy& left_out) {
  if (basis.tables.empty()) return {};
  const Accuracy replays = accuracy(published_measurements(MeasurementKind::serving), AccuracyKind::serving, {}, basis);
  return intervals_with_tables(replays, intervals(left_out));
}

json::Value estimator_file(std::span<const double> values, const Accuracy& left_out, const ReplayBasis& basis,
                           std::string how) {
  if (left_out.kind == AccuracyKind::inference)
    return inference_estimator_json(
        estimator<InferenceEstimator, InferenceClass>(values, left_out, with_tables(basis, left_out), std::move(how)));
  return training_estimator_json(
      estimator<TrainingEstimator, EstimateClass>(values, left_out, intervals_after_a_step(left_out), std::move(how)));
}

/// Fits the estimator to the rows, puts its intervals to left-out families, and writes it.
void write_fit(const std::string& path, const MeasurementFile& file, const FitSet& set, const ReplayBasis& basis,
               Accuracy& a, ProgressLine& line) {
  const double ridge = chosen_ridge(a.kind);
  const std::vector<double> values = fitted(set, ridge, told(line, "fit: step"));
  leave_out(a, set, ridge, values, told(line, "fit without family"));
  const auto n = std::count_if(set.weights.begin(), set.weights.end(), [](double w) { return w > 0; });
  const std::string how = fmt::format("{}, to {} figures of {}", today(), n, file.where);
  write_json(path, estimator_file(values, a, basis, how));
}

const EstimatorTerm& term(AccuracyKind kind, const std::string& said) {
  std::string all;
  for (const EstimatorTerm& t : estimator_terms(kind)) {
    if (same_spelling(said, t.name)) return t;
    all += (all.empty() ? "" : ", ") + std::string(t.name);
  }
  throw InputError(fmt::format("--without: expected a term of the estimator ({}), got {}", all, in_quotes(said)));
}

std::span<const double> shipped_values(AccuracyKind kind) {
  if (kind == AccuracyKind::inference) return inference_estimator().parameters.values();
  return training_estimator().parameters.values();
}

/// Whether a file is one that --fit wrote.
bool is_fit(const std::string& path, AccuracyKind kind) {
  try {
    const json::Value file = json::parse(json::file_text(path), path);
    const json::Object fit(file, path);
    return fit.text_or("name", "") == name(kind) && fit.has("fitted") && fit.has("parameters");
  } catch (const InputError&) {
    return false;
  }
}

/// A file of another kind is not written over, and a folder where nothing can be written is found out now.
void check_fit_out(const std::string& path, AccuracyKind kind) {
  const WholeFile probe(path);
  if (file_exists(path) && !is_fit(path, kind))
    throw InputError(fmt::format("'{}' exists and is no estimator of {}; refusing to overwrite it, give another --fit",
                                 path, name(kind)));
}

constexpr std::array fit_options{"--fit", "--leave-out", "--without"};

/// Refuses options of fits where nothing is fitted, and a term that no estimator has, before rows are predicted.
void check_fit(const Arguments& arguments, AccuracyKind kind) {
  for (const char* option : fit_options)
    if (arguments.has(option) && (kind == AccuracyKind::memory || kind == AccuracyKind::serving))
      throw InputError(
          fmt::format("accuracy: {} is for training and inference, whose estimators are fitted; leave it out", option));
  if (arguments.has("--without")) term(kind, arguments.text("--without"));
  if (arguments.has("--fit")) check_fit_out(arguments.text("--fit"), kind);
}

/// Predictions by other parameters than the program's, where options ask for them.
void refit(const Arguments& arguments, const MeasurementFile& file, const ReplayBasis& basis, Accuracy& a,
           ProgressLine& line) {
  if (std::none_of(fit_options.begin(), fit_options.end(), [&](const char* o) { return arguments.has(o); })) return;
  const FitSet set = fit_set(file, a.kind);
  if (arguments.has("--fit")) return write_fit(arguments.text("--fit"), file, set, basis, a, line);
  if (!arguments.has("--without"))
    return leave_out(a, set, chosen_ridge(a.kind), shipped_values(a.kind), told(line, "fit without family"));
  const EstimatorTerm& t = term(a.kind, arguments.text("--without"));
  predict_again(a, set, fitted_without(set, chosen_ridge(a.kind), t, told(line, "fit: step")));
}

int run_accuracy(const Arguments& arguments) {
  const AccuracyKind kind = accuracy_kind(arguments.word("KIND"));
  const std::vector<std::string> paths = arguments.words_from("FILE");
  stop_at_once();
  check_fit(arguments, kind);
  const ReplayBasis basis = basis_of(arguments, kind);
  ProgressLine line("reading measurements");
  const MeasurementFile file = measurements(paths, kind);
  Accuracy a = predicted(file, kind, basis, line);
  refit(arguments, file, basis, a, line);
  line.clear();
  return print(accuracy_report(a, {paths, file.unknown_keys, arguments.has("--rows")}), arguments.screen());
}

constexpr std::array accuracy_words{
    Word{"KIND", "training, memory, inference or serving"},
    Word{.name = "FILE", .help = "files of measurements [those of the program]", .required = false, .repeats = true}};
constexpr std::array accuracy_options{
    Option{"--rows", "", "every row, with what it is about and what was assumed"},
    Option{"--leave-out", "", "each source predicted by parameters fitted to all others (minutes)"},
    Option{"--without", "TERM", "the estimator fitted without one of its terms: host, launch, fusion, links, ..."},
    Option{"--tables", "DIR",
           "serving: times of layers from tables of operators, as calibrate --from reads them; inference --fit: the "
           "tables whose replays say how much they narrow the interval"},
    Option{"--hardware", "HW", "serving: a preset or hardware file in place of the recorded device"},
    Option{"--fit", "FILE",
           "fit the estimator to the rows and write it to FILE (minutes); the errors are those left out"}};

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
