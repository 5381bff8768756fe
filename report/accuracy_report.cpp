#include "report/accuracy_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "evidence/accuracy_groups.hpp"
#include "report/render/lines.hpp"
#include "report/serve/replay_report.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// A percentage without the % sign: "12.3"; in scientific notation if the ratio is at least 1000: "1.2e+07".
std::string percent_number(double share, bool sign = false) {
  const bool wild = std::fabs(share) >= 1e3;
  if (sign) return wild ? fmt::format("{:+.1e}", 100 * share) : fmt::format("{:+.1f}", 100 * share);
  return wild ? fmt::format("{:.1e}", 100 * share) : fmt::format("{:.1f}", 100 * share);
}
std::string percent_text(double share) { return percent_number(share) + " %"; }

std::string grouped_count(std::size_t n) { return grouped_digits(fmt::format("{}", n)); }

/// A count with its noun: "one row", "1,627 rows".
std::string how_many(std::size_t n, const char* what) {
  return n == 1 ? fmt::format("one {}", what) : fmt::format("{} {}s", grouped_count(n), what);
}

// ---- Error tables

/// Shortens a name so that the numbers fit in 80 columns. Drops the middle, because sources by one author differ at the
/// end.
std::string shortened(const std::string& name) {
  constexpr std::size_t most = 32, head = 12, tail = 17;
  if (columns_of(name) <= most) return name;
  const auto inside_character = [&](std::size_t i) { return (name[i] & 0xC0) == 0x80; };  // UTF-8 continuation byte
  std::size_t left = head, right = name.size() - tail;
  while (inside_character(left)) --left;
  while (inside_character(right)) ++right;
  return name.substr(0, left) + "..." + name.substr(right);
}

json::Value group_json(const ErrorGroup& g) {
  const ErrorSummary& e = g.errors;
  json::Value v{{"group", g.text()}, {"rows", e.rows}, {"median", e.median},
                {"mean", e.mean},    {"p90", e.p90},   {"signed", e.signed_median}};
  if (e.coverage) v["coverage"] = *e.coverage;
  if (e.interval_score) v["interval_score"] = *e.interval_score;
  return v;
}

std::vector<std::string> group_cells(const ErrorGroup& g, bool short_names) {
  const ErrorSummary& e = g.errors;
  return {short_names ? shortened(g.name) : g.name,
          grouped_digits(fmt::format("{}", e.rows)),
          percent_number(e.median),
          percent_number(e.mean),
          percent_number(e.p90),
          percent_number(e.signed_median, true),
          e.coverage ? percent_number(*e.coverage) : "-"};
}

/// Maximum number of groups shown per kind without --rows; the groups with the most rows are shown.
constexpr Count most_shown = 12;

/// Adds the table's lines for one kind of group.
void add_lines(Grid& g, std::span<const ErrorGroup> groups, bool all) {
  const auto empty = std::vector<std::string>(g.columns.size() - 1);
  const auto heading = [&](std::string text) {
    g.rows.push_back({std::move(text)});
    g.rows.back().insert(g.rows.back().end(), empty.begin(), empty.end());
  };
  if (!groups[0].by.empty()) heading("by " + groups[0].by);
  const std::size_t shown = all ? groups.size() : std::min<std::size_t>(groups.size(), most_shown);
  for (const ErrorGroup& group : groups.first(shown)) g.rows.push_back(group_cells(group, !all));
  if (shown < groups.size()) heading(fmt::format("and {} more: add --rows", groups.size() - shown));
}

bool has_interval(const ErrorGroup& g) { return g.errors.coverage.has_value(); }

Grid summary_grid(const std::vector<ErrorGroup>& groups, bool all) {
  Grid g{.key = "summary",
         .title = "errors in % of the measured value",
         .columns = {"", "rows", "median", "mean", "p90", "signed", "covered"},
         .rows = {}};
  for (auto first = groups.begin(); first != groups.end();) {
    const auto end = std::find_if(first, groups.end(), [&](const ErrorGroup& x) { return x.by != first->by; });
    add_lines(g, {first, end}, all);
    first = end;
  }
  for (const ErrorGroup& group : groups) g.json.push_back(group_json(group));
  if (std::none_of(groups.begin(), groups.end(), has_interval)) g.drop(6);
  return g;
}

// ---- Rows

/// A value as text, in the unit that the suffix of its quantity's name denotes.
std::string value_of(const PredictedRow& r, double value) {
  if (r.quantity.ends_with("_bytes")) return human_text(value, Unit::bytes);
  if (r.quantity.ends_with("_s") && !r.quantity.ends_with("tok_s")) return human_text(value, Unit::seconds);
  return human_text(value, Unit::none);
}

json::Value subject_json(const PredictedRow& r) {
  const RowSubject& of = r.of;
  json::Value v{
      {"model", of.model},   {"gpu", of.gpu},     {"gpus", of.gpus},           {"parallelism", of.parallelism},
      {"layout", of.layout}, {"batch", of.batch}, {"precision", of.precision}, {"software", of.software}};
  if (!of.recompute.empty()) v["recompute"] = of.recompute;
  if (!r.measured_as.empty()) v["measured_as"] = r.measured_as;
  return v;
}

json::Value row_json(const PredictedRow& r) {
  json::Value v{{"id", r.id}, {"family", r.of.family}, {"quantity", r.quantity}, {"predicted", r.predicted.value}};
  if (r.predicted.low) v["low"] = *r.predicted.low;
  if (r.predicted.high) v["high"] = *r.predicted.high;
  v["measured"] = r.measured;
  if (r.bound) v["bound"] = *r.bound;
  v["error"] = relative_error(r.compared(""));
  v["class"] = r.of.kind;
  for (const PredictedPart& part : r.parts) v["parts"][part.name + "_bytes"] = part.value;
  v["assumed"] = r.assumed;
  v["inputs"] = subject_json(r);
  if (r.repeats) v["repeats"] = true;
  if (!r.doubt.empty()) v["doubt"] = r.doubt;
  return v;
}

/// The row's run on one line: "GPT-22B on 8 a100-sxm-80gb: tp 8; micro-batch 4 of 4, 2048 tokens; fp16; recompute
/// full; megatron-lm".
std::string subject_text(const PredictedRow& r) {
  const RowSubject& of = r.of;
  std::string s = fmt::format("{} on {} {}: {}; {}; {}", of.model, of.gpus, of.gpu, of.layout, of.batch, of.precision);
  if (!of.recompute.empty()) s += fmt::format("; recompute {}", of.recompute);
  s += "; " + of.software;
  return r.assumed.empty() ? s : s + fmt::format("; assumed: {}", fmt::join(r.assumed, "; "));
}

std::string prediction_text(const PredictedRow& r) {
  const std::string value = value_of(r, r.predicted.value);
  if (!r.predicted.low || !r.predicted.high) return value;
  return fmt::format("{} ({} to {})", value, value_of(r, *r.predicted.low), value_of(r, *r.predicted.high));
}

/// The parts of a prediction: "tensors 57.3 GB, loss 2.1 GB"; empty if it has no parts.
std::string parts_text(const PredictedRow& r) {
  std::vector<std::string> all;
  for (const PredictedPart& part : r.parts) all.push_back(part.name + " " + value_of(r, part.value));
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Why a figure is excluded from the summary; empty if it is included.
std::string why_apart(const PredictedRow& r) {
  if (!r.doubt.empty()) return "excluded from summaries: " + r.doubt;
  return r.repeats ? "excluded from summaries: duplicates another figure of the row" : "";
}

/// Adds a line for a figure. The first figure of a row also gets a line that describes the row.
void add_figure(Grid& g, const PredictedRow& r, bool first_of_row) {
  if (first_of_row) g.rows.push_back({r.id + ": " + subject_text(r), "", "", ""});
  g.rows.push_back({"  " + r.quantity, prediction_text(r), value_of(r, r.measured),
                    percent_number(relative_error(r.compared("")), true) + " %"});
  if (!r.parts.empty()) g.rows.push_back({"    " + parts_text(r), "", "", ""});
  if (const std::string why = why_apart(r); !why.empty()) g.rows.push_back({"  " + why, "", "", ""});
}

Grid rows_grid(const Accuracy& a, bool shown) {
  Grid g{.key = "rows", .title = "", .columns = {}, .rows = {}};
  if (shown) g.columns = {"every row", "predicted", "measured", "error"};
  std::string_view last;
  for (const PredictedRow& r : a.rows) {
    if (shown) add_figure(g, r, r.id != last);
    last = r.id;
    g.json.push_back(row_json(r));
  }
  return g;
}

// ---- Skipped rows

/// Lists every skipped row, or the number of rows per reason.
Grid skipped_grid(const Accuracy& a, bool each) {
  Grid g{.key = "skipped", .title = "skipped", .columns = {"reason", "rows"}, .rows = {}};
  if (each) g.columns = {"row", "reason"};
  if (each) g.left = 2;
  std::map<std::string, std::size_t> reasons;
  for (const SkippedRow& s : a.skipped) {
    if (each) g.rows.push_back({s.id, s.reason});
    ++reasons[s.reason];
    g.json.push_back({{"id", s.id}, {"reason", s.reason}});
  }
  if (!each)
    for (const auto& [reason, rows] : reasons) g.rows.push_back({reason, grouped_count(rows)});
  if (a.skipped.empty()) g.columns.clear();
  return g;
}

// ---- The verdict

/// Noun for one row of the answer.
const char* thing(const Accuracy& a) { return a.kind == AccuracyKind::training ? "row" : "figure"; }

double share_within(const Accuracy& a, double most) {
  double within = 0, all = 0;
  for (const PredictedRow& r : a.rows) {
    if (!r.counts()) continue;
    within += std::fabs(relative_error(r.compared(""))) <= most;
    ++all;
  }
  return within / all;
}

std::string error_sentence(const Accuracy& a, const ErrorGroup& all) {
  std::string s = fmt::format("{}: the median error is {}, and {} are within 10 %",
                              how_many(static_cast<std::size_t>(all.errors.rows), thing(a)),
                              percent_text(all.errors.median), percent_text(share_within(a, 0.1)));
  if (all.errors.coverage)
    s += fmt::format("; intervals cover {} of the measurements", percent_text(*all.errors.coverage));
  return s;
}

std::string families_sentence(const ErrorSummary& e) {
  return fmt::format("{} with at least {} rows: the median of medians is {}, the 90th percentile {}", e.rows,
                     least_of_family, percent_text(e.median), percent_text(e.p90));
}

/// Families with enough rows and the largest medians.
std::string worst_families(const std::vector<ErrorGroup>& groups) {
  constexpr std::size_t most = 3;
  std::vector<const ErrorGroup*> families;
  for (const ErrorGroup& g : groups)
    if (g.by == "family" && g.errors.rows >= least_of_family) families.push_back(&g);
  std::stable_sort(families.begin(), families.end(),
                   [](const auto* x, const auto* y) { return x->errors.median > y->errors.median; });
  std::vector<std::string> names;
  for (const ErrorGroup* g : families)
    if (names.size() < most) names.push_back(fmt::format("{} ({})", g->name, percent_text(g->errors.median)));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// A sentence about skipped rows; empty unless more than one row in twenty was skipped.
std::string skipped_sentence(const Accuracy& a) {
  std::set<std::string_view> seen, left_out;
  for (const PredictedRow& r : a.rows) seen.insert(r.id);
  for (const SkippedRow& s : a.skipped)
    if (!seen.contains(s.id)) left_out.insert(s.id);
  const std::size_t rows = seen.size() + left_out.size();
  if (20 * left_out.size() <= rows) return "";
  return fmt::format("{} of {} ({}): see the reasons below", grouped_count(left_out.size()), how_many(rows, "row"),
                     percent_text(static_cast<double>(left_out.size()) / static_cast<double>(rows)));
}

void add_verdict(Report& report, const Accuracy& a, const std::vector<ErrorGroup>& groups) {
  if (groups.empty()) {
    report.verdict.push_back({"error", "no row could be compared", true});
  } else {
    report.verdict.push_back({"error", error_sentence(a, groups[0])});
  }
  if (groups.size() > 1 && groups[1].by.empty() && groups[1].errors.rows > 1) {
    report.verdict.push_back({"families", families_sentence(groups[1].errors)});
    report.verdict.push_back({"worst", worst_families(groups)});
  }
  if (const std::string s = skipped_sentence(a); !s.empty()) report.verdict.push_back({"skipped", s, true});
}

// ---- Title, notes and report

std::string title_of(const Accuracy& a, const AccuracyQuestion& q) {
  constexpr const char* what[] = {"optimizer steps", "peak training memory", "inference", "servers"};
  const char* of = a.kind ? what[static_cast<std::size_t>(*a.kind)] : "measurements";
  const std::string beside = q.files.empty() ? "published measurements" : fmt::format("{}", fmt::join(q.files, ", "));
  return fmt::format("{}: predictions compared with {}", of, beside);
}

/// Classes of the figures predicted without an interval.
std::set<std::string> without_interval(const Accuracy& a) {
  std::set<std::string> kinds;
  for (const PredictedRow& r : a.rows)
    if (!r.predicted.low) kinds.insert(r.of.kind);
  return kinds;
}

void add_notes(Report& report, const Accuracy& a) {
  if (const auto kinds = without_interval(a); !kinds.empty())
    report.notes.push_back({"figures_without_interval",
                            fmt::format("no interval is available for figures of class {}: no fit covers their error",
                                        fmt::join(kinds, ", "))});
  const auto apart = std::count_if(a.rows.begin(), a.rows.end(), [](const PredictedRow& r) { return !r.counts(); });
  if (apart > 0)
    report.notes.push_back(
        {"excluded_figures",
         fmt::format(
             "{} excluded from summaries: duplicates within a row, or figures that their source advises against",
             how_many(static_cast<std::size_t>(apart), "figure") + (apart == 1 ? " is" : " are"))});
}

}  // namespace

Report accuracy_report(const Accuracy& a, const AccuracyQuestion& q) {
  const std::vector<ErrorGroup> groups = error_groups(a);
  Report report;
  report.command = "accuracy";
  report.title = title_of(a, q);
  report.inputs = json::Value::object();
  if (a.kind) report.inputs["kind"] = name(*a.kind);
  if (!q.files.empty()) report.inputs["files"] = fmt::format("{}", fmt::join(q.files, ", "));
  report.conventions = {
      {"error", "(predicted - measured) / measured; summaries use absolute values, except for signed"},
      {"signed", "median of signed errors"},
      {"p90", "90th percentile, linearly interpolated"},
      {"families", fmt::format("families of at least {} rows, equally weighted", least_of_family)}};
  add_verdict(report, a, groups);
  Grid summaries = summary_grid(groups, q.rows);
  if (groups.empty()) summaries.columns.clear();
  const bool each = q.rows || a.kind == AccuracyKind::serving;
  report.grids = {std::move(summaries), skipped_grid(a, each), rows_grid(a, each)};
  if (!a.runs.empty()) report.grids.push_back(throughput_grid(a));
  add_notes(report, a);
  return report;
}

}  // namespace llmcalc
