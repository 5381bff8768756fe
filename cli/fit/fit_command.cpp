#include "cli/fit/fit_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "cli/commands/accuracy.hpp"
#include "cli/json_file.hpp"
#include "cli/out_file.hpp"
#include "cli/print.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "evidence/fit/left_out.hpp"
#include "evidence/fit/once_measured.hpp"
#include "evidence/profile/operator_table.hpp"
#include "presets/estimators/inference_estimator.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "report/accuracy_report.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

AccuracyWatch told(ProgressLine& line, const char* what) {
  return [&line, what](Count done, Count all) {
    line.show(fmt::format("{} {} of {}{}", what, done + 1, all,
                          left_text(line.seconds(), static_cast<double>(done) / static_cast<double>(all))));
  };
}

/// Sorted, distinct values of a property of the rows with times or rates, without empty ones.
std::vector<std::string> names_of(const Accuracy& a, std::string RowSubject::*property) {
  std::set<std::string> names;
  for (const PredictedRow& r : a.rows)
    if (r.counts() && r.bound) names.insert(r.of.*property);
  names.erase("");
  return {names.begin(), names.end()};
}

/// Predictions of a fit: of rows held out of it, and of the rows in it.
struct FitErrors {
  Accuracy left_out, in_fit;
};

/// An estimator with these parameter values. Its intervals are derived from held-out rows.
template <typename Estimate, typename Class>
Estimate estimator(std::span<const double> values, const FitErrors& errors, const IntervalsByClass& once_measured,
                   std::string how) {
  const Accuracy& left_out = errors.left_out;
  Estimate e;
  std::copy(values.begin(), values.end(), e.parameters.values().begin());
  e.fitted = std::move(how);
  e.devices = names_of(left_out, &RowSubject::gpu);
  e.software = names_of(left_out, &RowSubject::profile);
  e.intervals = in_order<Class>(intervals(left_out, errors.in_fit));
  e.intervals_new = in_order<Class>(intervals_of_new(left_out));
  e.intervals_once_measured = in_order<Class>(once_measured);
  return e;
}

/// Intervals of times from operator tables; empty without tables.
IntervalsByClass with_tables(const ReplayBasis& basis, const FitErrors& errors) {
  if (basis.tables.empty()) return {};
  const Accuracy replays = accuracy(published_measurements(MeasurementKind::serving), AccuracyKind::serving, {}, basis);
  return intervals_with_tables(replays, intervals(errors.left_out, errors.in_fit));
}

json::Value estimator_file(std::span<const double> values, const FitErrors& errors, const ReplayBasis& basis,
                           std::string how) {
  if (errors.left_out.kind == AccuracyKind::inference) {
    auto e = estimator<InferenceEstimator, InferenceClass>(values, errors, with_tables(basis, errors), std::move(how));
    e.intervals_after_a_run =
        in_order<InferenceClass>(intervals_after_a_run(errors.left_out, intervals(errors.left_out, errors.in_fit)));
    return inference_estimator_json(e);
  }
  return training_estimator_json(estimator<TrainingEstimator, EstimateClass>(
      values, errors, intervals_after_a_step(errors.left_out), std::move(how)));
}

std::span<const double> shipped_values(AccuracyKind kind) {
  if (kind == AccuracyKind::inference) return inference_estimator().parameters.values();
  return training_estimator().parameters.values();
}

/// Fits the estimator to the rows, derives its intervals from held-out families, and writes it.
void write_fit(const std::string& path, const MeasurementFile& file, const FitSet& set, const ReplayBasis& basis,
               Accuracy& a, ProgressLine& line) {
  const double ridge = chosen_ridge(*a.kind);
  const std::vector<double> values = fitted(set, ridge, shipped_values(*a.kind), told(line, "fit: step"));
  FitErrors errors{.left_out = a, .in_fit = a};
  predict_from(errors.in_fit, set, values);
  leave_out(errors.left_out, set, ridge, values, told(line, "fit without family"));
  const auto n = std::count_if(set.weights.begin(), set.weights.end(), [](double w) { return w > 0; });
  const std::string how = fmt::format("{}, to {} values from {}", today(), n, file.where);
  write_json(path, estimator_file(values, errors, basis, how));
  a = std::move(errors.left_out);
}

const EstimatorTerm& term(AccuracyKind kind, const std::string& said) {
  std::string all;
  for (const EstimatorTerm& t : estimator_terms(kind)) {
    if (same_spelling(said, t.name)) return t;
    all += (all.empty() ? "" : ", ") + std::string(t.name);
  }
  throw InputError(fmt::format("--without: expected a term of the estimator ({}), got {}", all, in_quotes(said)));
}

/// Whether a file is a fitted estimator of this kind.
bool is_fit(const std::string& path, AccuracyKind kind) {
  const json::Value file = json::parse(json::file_text(path), path);
  const json::Object fit(file, path);
  return fit.text_or("name", "") == name(kind) && fit.has("fitted") && fit.has("parameters");
}

/// Throws InputError if --out must not be replaced, or if --force has no effect.
void check_fit_out(const Arguments& arguments, AccuracyKind kind) {
  const bool force = arguments.has("--force");
  if (force && !arguments.has("--out")) throw InputError("--force has no effect without --out; add --out");
  if (!arguments.has("--out")) return;
  const auto is_own = [kind](const std::string& path) { return is_fit(path, kind); };
  check_out({arguments.text("--out"), "--out", fmt::format("an estimator of {}", name(kind)), is_own}, force);
}

AccuracyKind fitted_kind(const std::string& said) {
  const AccuracyKind kind = accuracy_kind(said);
  if (kind == AccuracyKind::memory || kind == AccuracyKind::serving)
    throw InputError(fmt::format("{} has no estimator with fitted parameters; pass training or inference", said));
  return kind;
}

/// Predicts with refitted parameters from a new fit, which is written to --out; from a fit without one term
/// (--without); or from a separate fit for each held-out family.
void refit(const Arguments& arguments, const MeasurementFile& file, const ReplayBasis& basis, Accuracy& a,
           ProgressLine& line) {
  const FitSet set = fit_set(file, *a.kind);
  if (arguments.has("--out")) return write_fit(arguments.text("--out"), file, set, basis, a, line);
  if (!arguments.has("--without"))
    return leave_out(a, set, chosen_ridge(*a.kind), shipped_values(*a.kind), told(line, "fit without family"));
  const EstimatorTerm& t = term(*a.kind, arguments.text("--without"));
  predict_from(a, set, fitted_without(set, chosen_ridge(*a.kind), t, told(line, "fit: step")));
}

int run_fit_command(const Arguments& arguments) {
  const AccuracyKind kind = fitted_kind(arguments.word("KIND"));
  const std::vector<std::string> paths = arguments.words_from("FILE");
  stop_at_once();
  if (arguments.has("--without")) term(kind, arguments.text("--without"));
  check_fit_out(arguments, kind);
  ReplayBasis basis;
  if (arguments.has("--tables")) basis.tables = read_operator_tables(arguments.text("--tables"));
  ProgressLine line("reading measurements");
  const MeasurementFile file = paths.empty() ? published_measurements(rows_for(kind)) : measurements(paths, kind);
  Accuracy a = predicted(file, kind, {}, line);
  refit(arguments, file, basis, a, line);
  line.clear();
  return print(accuracy_report(a, {paths, arguments.has("--rows")}), screen_of(arguments));
}

constexpr std::array fit_words{
    Word{"KIND", "training or inference"},
    Word{.name = "FILE", .help = "measurement files [the built-in ones]", .required = false, .repeats = true}};
constexpr std::array fit_own_options{
    Option{"--out", "FILE",
           "fit to all rows and write the estimator to FILE; reports errors on left-out sources (takes minutes)"},
    Option{"--without", "TERM", "fit the estimator without one of its terms: host, launch, fusion, links, ..."},
    Option{"--tables", "DIR", "for inference with --out: operator tables to replay, which narrows the interval"},
    Option{"--rows", "", "list every row, with its subject and assumptions"}};

}  // namespace

const Command fit_program{
    .program = "llmcalc-fit",
    .name = "",
    .arguments = "KIND [FILE ...]",
    .summary = "fit the estimators",
    .about = "Predicts every measurement with parameters fitted without its source, or refits the estimator.",
    .examples =
        "  llmcalc-fit training\n"
        "  llmcalc-fit training --without host\n"
        "  llmcalc-fit inference --tables evidence/operators/rtx-pro-6000 --out inference.json",
    .words = fit_words,
    .own = fit_own_options,
    .parts = part::styles | part::files,
    .run = run_fit_command};

}  // namespace llmcalc
