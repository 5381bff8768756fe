#include "report/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "ask/answer/fit.hpp"
#include "calc/roofline.hpp"
#include "report/brief/memory_bar.hpp"
#include "report/infer/engine_stages.hpp"
#include "report/infer/inference_sections.hpp"
#include "report/infer/remedy_finding.hpp"
#include "report/interval.hpp"
#include "report/train/run_section.hpp"
#include "report/train/training_remedy.hpp"
#include "report/train/training_sections.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

std::string labeled(std::string_view about, std::string_view label) {
  return about.empty() ? std::string(label) : fmt::format("{} {}", about, label);
}

/// Adds findings on training or inference to a report.
class VerdictLines {
 public:
  VerdictLines(Report& report, std::string_view about) : report_(report), about_(about) {}

  void add(Finding f) {
    f.label = labeled(about_, f.label);
    report_.verdict.push_back(std::move(f));
  }
  void add(std::string_view label, std::string text) { add(Finding{std::string(label), std::move(text)}); }
  /// A finding that short answers omit.
  void add_full(std::string_view label, std::string text) {
    add({.label = std::string(label), .text = std::move(text), .detail = true});
  }
  /// A finding that short answers omit if the report has both training and inference.
  void add_part(std::string_view label, std::string text) {
    add({.label = std::string(label), .text = std::move(text), .detail = !about_.empty()});
  }

 private:
  Report& report_;
  std::string_view about_;
};

// ---- Memory

/// The largest part and its size: "weights 32.86 GiB".
std::string largest_part(const MemoryParts& parts) {
  const auto most =
      std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} {}", most->first, bytes_text(most->second));
}

/// One size as a part of another: "37.54 of 80.00 GiB"; both units if they differ.
std::string part_of(Bytes one, Bytes all) {
  std::string part = bytes_text(one);
  const std::string whole = bytes_text(all);
  const std::size_t unit = whole.find(' ');
  if (part.ends_with(whole.substr(unit))) part.resize(part.size() - (whole.size() - unit));
  return fmt::format("{} of {}", part, whole);
}

/// The verdict with its probability: "likely (62 %)".
std::string fit_text(const Fit& fit) {
  if (fit.verdict == FitVerdict::yes || fit.verdict == FitVerdict::no) return std::string(name(fit.verdict));
  return fmt::format("{} ({:.0f} %)", name(fit.verdict), 100 * fit.probability);
}

/// `host`: host memory of the GPU that uses the most; `limit`: the reason stated if the plan exceeds the usable
/// memory. `place`: "per GPU", or the device.
Finding memory_finding(const Request& r, const Memory& m, Bytes host, const Fit& fit, const MemoryParts& parts,
                       std::string_view about, const std::string& place = "per GPU",
                       const std::string& limit = "more than --memory-utilization allows") {
  if (!r.hardware)
    return {labeled(about, "needs"), fmt::format("{} per GPU, {}", bytes_text(m.peak), largest_part(parts))};
  const Device& device = r.hardware->cluster.device;
  const std::string of = part_of(m.peak, device.memory), label = labeled(about, "fits");
  const double share = real(m.peak.value) / real(device.memory.value);
  const std::string ram = host == Bytes() ? "" : fmt::format(", and {} of host memory", bytes_text(host));
  if (fit.is_expected())
    return {label, fmt::format("{}: {} {} ({:.0f} %){}", fit_text(fit), of, place, 100 * share, ram)};
  if (share <= 1 && m.host != Bytes() && device.host.capacity != Bytes() && m.host > device.host.capacity)
    return {label, fmt::format("no: needs {} of host memory per GPU", part_of(host, device.host.capacity)), true};
  const std::string why = share > 1 ? largest_part(parts) : limit;
  return {label, fmt::format("{}: needs {} {}, {}", fit_text(fit), of, place, why), true};
}

// ---- Times

/// The label of a time, which distinguishes an estimate from a lower bound.
std::string_view time_label(bool estimated) { return estimated ? "time" : "at best"; }

/// The interval of a time: " (4.9 to 7.6 s)".
std::string ends_text(const std::optional<EstimateInterval>& interval, Seconds time) {
  return interval ? fmt::format(" ({})", interval_text(*interval, time.value, Unit::seconds)) : "";
}

/// The three largest parts: "matmuls 61.0 %, bubble 9.1 %, ...".
std::string spent_text(std::vector<SpentPart> parts, Seconds all) {
  std::stable_sort(parts.begin(), parts.end(), [](const SpentPart& a, const SpentPart& b) { return a.time > b.time; });
  parts.resize(std::min<std::size_t>(parts.size(), 3));
  std::string text;
  for (const SpentPart& p : parts)
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", p.label, 100 * (p.time / all));
  return text;
}

std::string step_spent_text(const StepFigures& f, Seconds step) {
  std::vector<SpentPart> parts;
  for (const PartTime& p : f.parts)
    if (p.time.value > 0) parts.push_back({part_names[static_cast<std::size_t>(p.part)], part_label(p.part), p.time});
  return spent_text(std::move(parts), step);
}

/// The three changes with the largest effect: "10 % better matmul peak -4.4 %, link -2.6 %".
std::string helps_text(std::vector<TimeChange> all) {
  constexpr double shown = 0.0005;  // hides "-0.0 %"
  std::erase_if(all, [](const TimeChange& c) { return c.change >= -shown; });
  std::stable_sort(all.begin(), all.end(),
                   [](const TimeChange& a, const TimeChange& b) { return a.change < b.change; });
  all.resize(std::min<std::size_t>(all.size(), 3));
  std::string text;
  for (const TimeChange& c : all)
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "10 % better " : ", ", c.label, 100 * c.change);
  return text;
}

/// Energy and CO2 of the run: "33.90 MWh, 10.17 t CO2", if requested.
std::string energy_text(const TrainingAnswer& a) {
  const RunInputs& run = a.request().run;
  const WholeTraining& w = *a.run().whole;
  if (!w.energy_kwh || !(run.co2 || run.watts || a.request().gave("--pue"))) return "";
  const std::string co2 = w.co2_kg ? ", " + human_text(Quantity(*w.co2_kg), Unit::kilograms) + " of CO2" : "";
  return human_text(Quantity(*w.energy_kwh), Unit::kilowatt_hours) + co2;
}

/// The number of GPUs that meets the deadline: "330 to finish in 10 days (260 to 420): global batch scaled with the
/// replicas, 7.637 days".
std::string gpus_text(const WholeTraining& w, double days) {
  const std::string number = w.gpus->gpus ? fmt::format("{} to finish", *w.gpus->gpus) : "no number finishes";
  std::string ends;
  if (w.gpus_low && w.interval)
    ends = w.gpus_high ? fmt::format(" ({} to {})", *w.gpus_low, *w.gpus_high)
                       : fmt::format(" ({}, or more than the batch allows)", *w.gpus_low);
  return fmt::format("{} in {:g} days{}: {}", number, days, ends, w.gpus->note);
}

/// The main bottleneck: "compute, 93.1 % of the step".
std::string bound_text(const LimitTime& bound, Seconds step) {
  return fmt::format("{}, {:.1f} % of the step", bound.name, 100 * (bound.time / step));
}

std::string step_text(const TrainingAnswer& a) {
  const Seconds step = a.estimate().estimate.total();
  const StepFigures& f = a.step();
  return fmt::format("{} per step{}, {} MFU, {}", seconds_text(step), ends_text(a.interval(), step),
                     human_text(Quantity(f.mfu), Unit::ratio),
                     human_text(Quantity(f.tokens_per_s), Unit::tokens_per_second));
}

std::string bound_name(const PassEstimate& p) {
  return std::string(bound_names[static_cast<std::size_t>(bound(p.estimate))]);
}

std::string generation_text(const InferenceAnswer& a) {
  const InferEstimate& e = a.estimate();
  const Plan& p = a.request().plan;
  const Seconds first = e.estimate.first_token, token = e.middle.estimate.total();
  const double rate = real(p.batch) / token.value;
  return fmt::format("{} to first {}{}, then {} each{}, {}", seconds_text(first), p.batch > 1 ? "tokens" : "token",
                     ends_text(a.first_token_interval(), first), seconds_text(token),
                     ends_text(a.decode_interval(), token), human_text(Quantity(rate), Unit::tokens_per_second));
}

}  // namespace

namespace {

/// Sets the report's fit to `fit` if that is worse.
void add_fit(Report& report, const Fit& fit) {
  if (!report.fit || fit.probability < report.fit->probability) report.fit = fit;
}

/// Appends to the rows under "remedies", which are only in JSON.
void add_remedies(Report& report, const json::Value& rows) {
  const auto is_remedies = [](const Grid& g) { return g.key == "remedies"; };
  auto grid = std::find_if(report.grids.begin(), report.grids.end(), is_remedies);
  if (grid == report.grids.end())
    grid = report.grids.insert(grid, Grid{.key = "remedies", .title = "", .columns = {}, .rows = {}});
  for (const json::Value& row : rows) grid->json.push_back(row);
}

Finding process_finding(const ProcessEstimate& p, const Fit& fit, std::string_view about) {
  return {labeled(about, "fits"),
          fmt::format("{}: about {} per GPU ({})", fit_text(fit), part_of(p.needed(), p.capacity),
                      bytes_interval_text(p.low(), p.high())),
          !fit.is_expected()};
}

}  // namespace

void add_inference_fit(const InferenceAnswer& a, Report& report, std::string_view about) {
  const Request& r = a.request();
  const Fit fit = r.hardware ? fit_of(a) : Fit();
  if (r.hardware) add_fit(report, fit);
  const std::string limit =
      a.capacity() ? fmt::format("more than the {} that {} may fill", bytes_text(a.usable()), r.engine->named_version())
                   : "more than --memory-utilization allows";
  report.verdict.push_back(memory_finding(a.request().hardware ? a.fullest_request() : r, a.memory(), a.memory().host,
                                          fit, inference_parts(a.memory()), about, memory_place(a), limit));
  if (!r.hardware || fit.is_expected()) return;
  VerdictLines(report, about).add(remedy_finding(a));
  add_remedies(report, remedies_json(a));
}

void add_training_fit(const TrainingAnswer& a, Report& report, std::string_view about) {
  const Request& r = a.request();
  const bool fits = r.hardware && a.fits();
  VerdictLines lines(report, about);
  if (r.hardware) add_fit(report, fit_of(a));
  if (fits && a.process()) {
    report.verdict.push_back(process_finding(*a.process(), fit_of(a), about));
    lines.add_full("tensors",
                   fmt::format("{} per GPU, {}; with {}", part_of(a.memory().peak, r.hardware->cluster.device.memory),
                               largest_part(training_parts(a.memory())), a.process()->software));
  } else {
    const Fit fit{fits ? FitVerdict::yes : FitVerdict::no, fits ? 1.0 : 0.0};
    report.verdict.push_back(memory_finding(r, a.memory(), a.memory().host, fit, training_parts(a.memory()), about));
  }
  if (!r.hardware || (fits && a.process_fits())) return;
  lines.add(remedy_finding(a));
  add_remedies(report, remedies_json(a));
}

void add_train_verdict(const TrainingAnswer& a, Report& report, std::string_view about) {
  const Seconds step = a.estimate().estimate.total();
  VerdictLines lines(report, about);
  add_training_fit(a, report, about);
  lines.add(time_label(a.estimate().estimated), step_text(a));
  lines.add_part("bound by", bound_text(a.step().bound, step));
  if (a.request().software) lines.add_part("spent on", step_spent_text(a.step(), step));
  if (!a.sensitivity().empty()) lines.add_full("helps", helps_text(a.sensitivity()));
  if (!a.run().possible || !a.run().whole) return;
  lines.add("run", run_text(*a.run().whole));
  if (const std::string energy = energy_text(a); !energy.empty()) lines.add("energy", energy);
  if (a.run().whole->gpus) lines.add("GPUs", gpus_text(*a.run().whole, *a.request().run.days));
}

void add_infer_verdict(const InferenceAnswer& a, Report& report, std::string_view about) {
  const InferEstimate& e = a.estimate();
  VerdictLines lines(report, about);
  add_inference_fit(a, report, about);
  lines.add(time_label(e.estimated), generation_text(a));
  const std::string prefill = bound_name(e.prefill), decode = bound_name(e.middle);
  lines.add_part("bound by", prefill == decode ? prefill + " in prefill and decode"
                                               : fmt::format("{} in prefill, {} in decode", prefill, decode));
  if (a.request().engine)
    lines.add_full("spent on",
                   fmt::format("decode: {}; prefill: {}", spent_text(decode_parts(a), a.decode_spent().total()),
                               spent_text(prefill_parts(a), a.prefill_spent().total())));
  if (!a.sensitivity().empty()) lines.add_full("helps", helps_text(a.sensitivity()) + " of the time per token");
}

}  // namespace llmcalc
