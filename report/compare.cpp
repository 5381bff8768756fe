#include "report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "ask/answer/measured_scale.hpp"
#include "presets/estimators/training_estimator.hpp"
#include "report/explain/definition.hpp"
#include "report/interval.hpp"
#include "report/plan/plan_report.hpp"
#include "report/question.hpp"
#include "report/render/render.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/json_text.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

using explain::Definition;

/// Key suffixes for the ends of an interval.
constexpr std::array<std::string_view, 2> ends{"_low", "_high"};

/// The value at a dotted path; null if absent.
const json::Value* at(const json::Value& v, std::string_view path) {
  const std::size_t dot = path.find('.');
  const auto it = v.find(std::string(path.substr(0, dot)));
  if (it == v.end()) return nullptr;
  return dot == std::string_view::npos ? &*it : at(*it, path.substr(dot + 1));
}

std::optional<double> number_at(const json::Value& v, std::string_view path) {
  const json::Value* found = at(v, path);
  return found != nullptr ? number_of(*found) : std::nullopt;
}

/// Whether a number is a fraction that reports show in percent: utilization, relative changes of the step.
bool is_share(const Definition& d) {
  const std::string_view key = d.path.substr(d.path.find('.') + 1);
  return d.section() == "utilization" || d.section().ends_with("sensitivity") || key.starts_with("mfu") ||
         key.starts_with("hfu") || key == "goodput";
}

Unit unit_of(const Definition& d) {
  constexpr std::array units{std::pair{"bytes", Unit::bytes},
                             std::pair{"FLOP", Unit::flops},
                             std::pair{"s", Unit::seconds},
                             std::pair{"tokens", Unit::tokens},
                             std::pair{"tokens/s", Unit::tokens_per_second},
                             std::pair{"days", Unit::days},
                             std::pair{"h", Unit::hours},
                             std::pair{"USD", Unit::dollars},
                             std::pair{"parameters", Unit::parameters},
                             std::pair{"kWh", Unit::kilowatt_hours}};
  for (const auto& [name, unit] : units)
    if (d.unit == name) return unit;
  return is_share(d) ? Unit::ratio : Unit::none;
}

std::string value_text(const Definition& d, double v) {
  const Unit unit = unit_of(d);
  const bool counts = unit == Unit::bytes || unit == Unit::parameters || unit == Unit::tokens;
  if (counts && std::abs(v) < 0x1p63) return human_text(Quantity(static_cast<Count>(std::llround(v))), unit);
  return human_text(Quantity(v), unit == Unit::flops ? Unit::none : unit);
}

/// A sum in a report, and the common prefix of its parts' paths.
struct CompareSum {
  std::string_view path, parts;
};
constexpr std::array sums{CompareSum{"step.time_s", "step.breakdown_s."}, CompareSum{"memory.total_bytes", "memory."},
                          CompareSum{"memory.peak_bytes", "memory."},
                          CompareSum{"inference_memory.total_bytes", "inference_memory."},
                          CompareSum{"flops.hardware_total", "flops."}};

/// The definition of a path. Precondition: the path has a definition.
const Definition* defined(std::string_view path) {
  const auto& all = explain::definitions();
  return &*std::find_if(all.begin(), all.end(), [&](const Definition& d) { return d.path == path; });
}

bool is_part(std::string_view path, const CompareSum& s) {
  if (!path.starts_with(s.parts)) return false;
  const std::string_view rest = path.substr(s.parts.size());
  constexpr std::array<std::string_view, 9> wholes{"total_bytes",    "peak_bytes", "capacity_bytes",
                                                   "parameters",     "fits",       "model_total",
                                                   "hardware_total", "executed",   "per_token"};
  return rest.find('.') == std::string_view::npos && std::find(wholes.begin(), wholes.end(), rest) == wholes.end() &&
         !rest.starts_with("forward_") && !rest.starts_with("attention_equals") && !rest.ends_with("_run");
}

/// The parts of a sum with the largest changes: "tensor parallel exchanges -1.2 s, bubble +0.3 s".
std::string because(const Definition& whole, const json::Value& a, const json::Value& b) {
  const auto sum = std::find_if(sums.begin(), sums.end(), [&](const CompareSum& s) { return s.path == whole.path; });
  if (sum == sums.end()) return "";
  std::vector<std::pair<double, const Definition*>> changes;
  for (const Definition& d : explain::definitions()) {
    if (!is_part(d.path, *sum)) continue;
    const double x = number_at(a, d.path).value_or(0), y = number_at(b, d.path).value_or(0), change = y - x;
    constexpr double rounding = 1e-9;
    if (std::abs(change) > rounding * std::max(std::abs(x), std::abs(y))) changes.emplace_back(change, &d);
  }
  std::sort(changes.begin(), changes.end(),
            [](const auto& x, const auto& y) { return std::abs(x.first) > std::abs(y.first); });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(changes.size(), 4); ++i)
    text += fmt::format("{}{} {}{}", i == 0 ? "" : ", ", changes[i].second->title, changes[i].first > 0 ? "+" : "-",
                        value_text(*changes[i].second, std::abs(changes[i].first)));
  return text;
}

std::string by(double a, double b) { return a == 0 ? "" : fmt::format("{:+.1f} %", 100 * (b / a - 1)); }

/// A part of a report, empty if absent. Throws InputError if it is not an object.
json::Object part_of(const json::Object& report, std::string_view key) {
  static const json::Value none = json::Value::object();
  return report.has(key) ? report.object(key) : json::Object(none, report.where());
}

/// The inputs in which the two sides differ: "tp 8 and 4".
std::string different_inputs(const Side& a, const Side& b) {
  const json::Object report_a(a.report, a.name), report_b(b.report, b.name);
  const json::Object in_a = part_of(report_a, "inputs"), in_b = part_of(report_b, "inputs");
  const auto text = [](const json::Object& in, const std::string& key) {
    const json::Value* value = at(in.value(), key);
    return value == nullptr ? std::string("none") : json::shown(*value);
  };
  std::vector<std::string> keys = in_a.keys();
  for (std::string& key : in_b.keys())
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
  std::string all;
  for (const std::string& key : keys)
    if (text(in_a, key) != text(in_b, key))
      all += fmt::format("{}{} {} and {}", all.empty() ? "" : ", ", printable(key), text(in_a, key), text(in_b, key));
  return all;
}

std::string subject(const Side& s) {
  const json::Object report(s.report, s.name);
  const std::string model = part_of(report, "model").text_or("name", "");
  return model + (report.has("hardware") ? " on " + report.object("hardware").text_or("name", "") : "");
}

std::string command_of(const Side& s) {
  if (s.report.is_object())
    if (const json::Object report(s.report, s.name); report.has("command") && report.has("llmcalc"))
      return report.text("command");
  throw InputError(fmt::format("{} is not an llmcalc report; save one with --json", s.name));
}

/// Whether the report is from a search for plans.
bool is_search(const Side& s) { return command_of(s) == "plan"; }

/// The best plan of a search. Throws InputError if it found no plan.
json::Object best_plan(const Side& s) {
  const json::Value* plans = at(s.report, "plans");
  if (plans == nullptr || plans->empty())
    throw InputError(fmt::format("{} has no plan to compare; search with more GPUs, or other options", s.name));
  if (!plans->is_array())
    throw InputError(fmt::format("{}, \"plans\": expected a list, got {}", s.name, in_quotes(json::shown(*plans))));
  return json::Object(plans->front(), s.name + ", \"plans\"[0]");
}

/// Throws InputError if one search is for training and the other search is for serving.
void check_plans(const Side& first, const Side& s) {
  if (best_plan(first).has("step") != best_plan(s).has("step"))
    throw InputError(
        fmt::format("{} and {} mix training and serving plans; compare plans of one kind", first.name, s.name));
}

/// Replaces a search by the report of its best plan: the plan's sections, and its layout among the inputs. Returns all
/// other reports unchanged.
Side of_best_plan(const Side& s) {
  if (!is_search(s)) return s;
  const json::Object report(s.report, s.name), best = best_plan(s);
  json::Value inputs = part_of(report, "inputs").value();
  for (const char* key : {"inputs", "layout"}) inputs.update(part_of(best, key).value());
  Side out = s;
  for (const auto& [key, value] : best.value().items())
    if (value.is_object()) out.report[key] = value;
  out.report["inputs"] = std::move(inputs);
  return out;
}

/// Throws InputError if a file is not a report, if the commands differ, or if a part of a report is not an object where
/// one is expected.
void check_sides(const std::vector<Side>& sides) {
  const std::string first = command_of(sides[0]);
  for (const Side& s : sides) {
    if (const std::string mine = command_of(s); mine != first)
      throw InputError(
          fmt::format("{} is from 'llmcalc {}' and {} from 'llmcalc {}'; compare reports of the same command",
                      sides[0].name, first, s.name, mine));
    if (is_search(s)) check_plans(sides[0], s);
    subject(s);
    part_of(json::Object(s.report, s.name), "inputs");
  }
}

/// Whether the quantity is one end of an estimate's interval, which changes with the estimate.
bool is_interval_end(const Definition& d) {
  return std::any_of(ends.begin(), ends.end(), [&](const auto& e) { return d.path.find(e) != std::string_view::npos; });
}

/// Whether text output shows the quantity. Quantities that repeat another one in a different form are omitted.
bool is_shown(const Definition& d) {
  return d.section() != "utilization" && !is_interval_end(d) && d.path.find(".bound_") == std::string_view::npos &&
         d.path.find(".limited_s.") == std::string_view::npos && !d.path.ends_with("total_bytes");
}

/// Adds one line per quantity in which `b` differs from `a`; sensitivities come last.
void add_differences(Grid& g, const Side& a, const Side& b) {
  std::vector<std::vector<std::string>> sensitivities;
  for (const Definition& d : explain::definitions()) {
    const std::optional<double> x = number_at(a.report, d.path), y = number_at(b.report, d.path);
    if ((!x && !y) || x == y) continue;
    const auto shown = [&](const std::optional<double>& v) { return v ? value_text(d, *v) : "-"; };
    const std::string why = because(d, a.report, b.report);
    if (is_shown(d))
      (d.section().ends_with("sensitivity") ? sensitivities : g.rows)
          .push_back({std::string(d.title), shown(x), shown(y), x && y ? by(*x, *y) : ""});
    json::Value row{{"quantity", d.path}};
    if (x) row["a"] = *x;
    if (y) row["b"] = *y;
    if (!why.empty()) row["because"] = why;
    g.json.push_back(std::move(row));
  }
  g.rows.insert(g.rows.end(), sensitivities.begin(), sensitivities.end());
}

/// The interval of a report's step once another step on the same machine has been measured; absent if the step has no
/// interval.
std::optional<EstimateInterval> interval_once_measured(const json::Value& report) {
  const json::Value* kind = at(report, "estimate.class");
  if (kind == nullptr || !kind->is_string() || !number_at(report, "step.time_low_s")) return std::nullopt;
  const auto known = parse<EstimateClass>(kind->get<std::string>());
  return known ? std::optional(training_estimator().interval_once_measured(*known)) : std::nullopt;
}

/// Rescales the step of `b` if a step of `a` was measured on the same devices with the same software.
void add_rescaled(Report& r, Grid& g, const Side& a, const Side& b) {
  const auto scale = number_at(a.report, "estimate.measured_scale");
  const auto estimated = number_at(a.report, "step.time_s"), time = number_at(b.report, "step.time_s");
  const auto is_same = [&](const char* path) {
    const json::Value *x = at(a.report, path), *y = at(b.report, path);
    return x != nullptr && y != nullptr && *x == *y;
  };
  if (!scale || !estimated || !time || number_at(b.report, "estimate.measured_scale")) return;
  if (!is_same("hardware.name") || !is_same("estimate.software")) return;
  const double measured = *scale * *estimated, rescaled = rescale(*scale) * *time;
  const auto text = [](double seconds) { return human_text(Quantity(seconds), Unit::seconds); };
  g.rows.push_back(
      {"step time, rescaled by the measured step", text(measured), text(rescaled), by(measured, rescaled)});
  g.json.push_back({{"quantity", "step.rescaled_time_s"}, {"a", measured}, {"b", rescaled}});
  std::string sentence = fmt::format("{}, rescaled by the measured step of {}: {:.3g} times its estimate, {} per step",
                                     b.name, a.name, rescale(*scale), text(rescaled));
  if (const auto interval = interval_once_measured(b.report)) {
    const Seconds bound(number_at(b.report, "step.bound_time_s").value_or(0));
    sentence += fmt::format(" ({} in 9 of 10 cases)",
                            interval_text(interval->above(bound, Seconds(rescaled)), rescaled, Unit::seconds));
  }
  r.notes.push_back({"rescaled_side", std::move(sentence)});
}

/// The main result of a command's report, for the verdict of a comparison.
struct VerdictPart {
  std::string_view path, less, more, unit;
};
constexpr std::array verdict_parts{
    VerdictPart{"step.time_s", "less time per step", "more time per step", "per step"},
    VerdictPart{"decode.time_per_token_s", "less time per token", "more time per token", "per token"},
    VerdictPart{"end_to_end.ttft_s", "less time to the first token", "more time to the first token",
                "to the first token"},
    VerdictPart{"memory.peak_bytes", "less memory", "more memory", "per GPU"}};

/// The results of one side: "fits: yes; 7.522 ms per token".
std::string side_verdict(const Side& s) {
  const json::Value* fit = at(s.report, "verdict.fit");
  std::string text = fit != nullptr && fit->is_string() ? "fits: " + fit->get<std::string>() : "";
  for (const VerdictPart& of : verdict_parts)
    if (const auto x = number_at(s.report, of.path); x)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", value_text(*defined(of.path), *x), of.unit);
  return text;
}

/// The changed parts of the first sum in which the two sides differ.
std::string main_cause(const Side& a, const Side& b) {
  for (const CompareSum& s : sums)
    if (const std::string why = because(*defined(s.path), a.report, b.report); !why.empty()) return why;
  return "";
}

/// The main differences of `b` from `a`: "b.json: 24.0 % less time per token, 4.3 % less time to the first token";
/// empty if the sides agree.
std::string verdict_of(const Side& a, const Side& b) {
  std::string text;
  for (const VerdictPart& of : verdict_parts) {
    const auto x = number_at(a.report, of.path), y = number_at(b.report, of.path);
    if (!x || !y || *x == 0 || *x == *y) continue;
    text += fmt::format("{}{:.1f} % {}", text.empty() ? b.name + ": " : ", ", 100 * std::abs(*y / *x - 1),
                        *y < *x ? of.less : of.more);
  }
  const std::string why = text.empty() ? "" : main_cause(a, b);
  return why.empty() ? text : text + "; " + why;
}

void add_sentences(Report& r, const Side& a, const Side& b) {
  for (const Definition& d : explain::definitions())
    if (const std::string why = because(d, a.report, b.report); is_shown(d) && !why.empty())
      r.notes.push_back({"cause_of_difference", fmt::format("{}, {} against {}: {}", d.title, b.name, a.name, why)});
}

}  // namespace

Report compare(const std::vector<Side>& reports) {
  check_sides(reports);
  Report r;
  r.command = compare_name;
  Grid all{.key = "sides", .title = "", .columns = {}, .rows = {}};
  std::vector<Side> sides;
  for (const Side& s : reports) {
    all.json.push_back(s.report);
    sides.push_back(of_best_plan(s));
  }
  r.grids.push_back(std::move(all));
  for (const Side& s : sides)
    if (std::string text = side_verdict(s); !text.empty()) r.verdict.push_back({s.name, std::move(text)});
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const Side &a = sides[0], &b = sides[i];
    Grid g{.key = i == 1 ? "differences" : fmt::format("differences_{}", i),
           .title = "",
           .columns = {"quantity", a.name, b.name, "change"},
           .rows = {}};
    add_differences(g, a, b);
    add_rescaled(r, g, a, b);
    const std::string inputs = different_inputs(a, b);
    const std::string who = subject(a) == subject(b) ? subject(a) : fmt::format("{} and {}", subject(a), subject(b));
    if (const std::string answer = verdict_of(a, b); !answer.empty()) r.verdict.push_back({"", answer, false});
    r.verdict.push_back({.label = "",
                         .text = fmt::format("{}: {}", who, inputs.empty() ? "the same options" : inputs),
                         .detail = !inputs.empty()});
    if (g.rows.empty()) r.verdict.push_back({"", fmt::format("{} equals {}", b.name, a.name), false});
    add_sentences(r, a, b);
    if (!g.rows.empty()) r.grids.push_back(std::move(g));
  }
  r.brief = Brief{.with_grid = true, .more = "more: --full"};
  return r;
}

}  // namespace llmcalc
