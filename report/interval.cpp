#include "report/interval.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ask/request/machine.hpp"
#include "ask/request/software.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// The rates that were measured: "matmuls in bf16, memory, kernel launches".
std::string measured_text(const MeasuredRates& m) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < peak_count; ++i)
    if (m.products[i]) parts.push_back(fmt::format("matmuls in {}", peak_names[i]));
  const auto add = [&](bool measured, const char* what) {
    if (measured) parts.emplace_back(what);
  };
  const auto has_core = [](const CoreRates& c) { return c.forward.value > 0; };
  add(std::any_of(m.rates.flash.begin(), m.rates.flash.end(), has_core), "attention");
  add(m.memory, "memory");
  add(m.links, "links");
  add(m.rates.launch.value > 0, "kernel launches");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Classes whose interval is narrower with measured rates, with both factors: "decode under load 1.29 -> 1.2".
std::vector<std::string> low_precision_classes() {
  std::vector<std::string> all;
  for (const auto& c : choices<InferenceClass>) {
    const double before = inference_estimator().interval(c.value).factor,
                 after = inference_estimator().interval_once_measured(c.value).factor;
    if (after < before) all.push_back(fmt::format("{} {:.3g} -> {:.3g}", c.name, before, after));
  }
  return all;
}

std::string interval_of_measured_text(const Request& r) {
  if (has_operators_of_engine(r))
    return fmt::format(
        "the interval, a factor in either direction, is narrowed to the error of server replays from such tables ({}); "
        "other figures keep the interval of their class",
        fmt::join(low_precision_classes(), ", "));
  return "the interval of its class applies: no published source measured both the operators of a machine and whole "
         "runs with this software, so the narrowing is unknown";
}

}  // namespace

void note_measured_device(const Request& r, Report& report) {
  const auto& measured = r.hardware->measured;
  if (!measured || (!r.software && !r.engine)) return;
  report.notes.push_back(
      {"measured_device",
       fmt::format("measured on the device: {}; the rest of the estimate uses the defaults of its class; {}",
                   measured_text(*measured), interval_of_measured_text(r))});
}

namespace {
void note_unmeasured(const HardwareCard& card, const char* in, bool of_no_kind, Report& report) {
  report.notes.push_back(
      {"device_without_runs",
       fmt::format("no published {} run used {}: bandwidth and peak efficiency are taken from {}, and the interval "
                   "covers errors on new devices",
                   in, card.name, of_no_kind ? "other devices" : "devices of the same kind")});
}

/// Adds a note that there are too few measurements on this kind of device to fit separate bandwidth and peak
/// efficiencies.
void note_rare_kind(const HardwareCard& card, const char* in, Report& report) {
  report.notes.push_back(
      {"device_kind_with_few_runs",
       fmt::format("too few published {} runs used devices of the same kind as {}: bandwidth and peak efficiency are "
                   "taken from other devices, and the interval covers errors on new devices",
                   in, card.name)});
}
}  // namespace

void note_wider_training(const Request& r, Report& report) {
  if (!r.software) return;
  const bool rare = silicon_of(*r.hardware) == Silicon::other;
  if (!stands_on_runs(training_estimator(), *r.hardware)) return note_unmeasured(*r.hardware, "training", rare, report);
  if (rare) note_rare_kind(*r.hardware, "training", report);
}
namespace {
void note_wider_inference(const HardwareCard& card, Report& report) {
  const bool rare = chip_of(card) == Chip::other;
  if (!stands_on_runs(inference_estimator(), card)) return note_unmeasured(card, "inference", rare, report);
  if (rare) note_rare_kind(card, "inference", report);
}
}  // namespace

void note_wider_inference(const Request& r, Report& report) {
  if (!r.engine) return;
  if (!inference_estimator().ran(r.engine->name))
    report.notes.push_back(
        {"software_without_runs",
         fmt::format(
             "no published inference run used {}: its overheads are taken from similar engines, and the interval "
             "covers errors with new engines",
             r.engine->title)});
  std::vector<std::string> noted;
  for (Count i = 0; i < std::max<Count>(1, static_cast<Count>(r.machine.size())); ++i) {
    const HardwareCard& card = card_of_stage(r, i);
    if (std::find(noted.begin(), noted.end(), card.name) != noted.end()) continue;
    noted.push_back(card.name);
    note_wider_inference(card, report);
  }
}

std::string interval_text(double low, double high, Unit unit) {
  const std::string a = human_text(low, unit), b = human_text(high, unit);
  const std::string unit_of_a = a.substr(a.find(' ')), unit_of_b = b.substr(b.find(' '));
  return fmt::format("{} to {}", unit_of_a == unit_of_b ? a.substr(0, a.find(' ')) : a, b);
}

std::string bytes_interval_text(Bytes low, Bytes high) {
  return interval_text(real(low.value), real(high.value), Unit::bytes);
}

std::string interval_text(const EstimateInterval& interval, double time, Unit unit) {
  return interval_text(time / interval.faster(), time * interval.factor, unit);
}

void add_relative_ends(Section& s, const std::string& key, const std::optional<RelativeInterval>& ends, double value,
                       Unit unit) {
  if (!ends) return;
  s.add(key + "_low", "", ends->low * value, unit);
  s.add(key + "_high", "", ends->high * value, unit);
}

void add_ends(Section& s, const EstimateInterval& interval, HasInterval has_interval) {
  const std::size_t rows = s.rows.size();
  for (std::size_t i = 0; i < rows; ++i) {
    const Row row = s.rows[i];
    const double* value = std::get_if<double>(&row.value);
    if (value == nullptr || !has_interval(row.key)) continue;
    const bool ends_in_unit = row.key.ends_with("_s") && row.unit == Unit::seconds;
    const std::string stem = ends_in_unit ? row.key.substr(0, row.key.size() - 2) : row.key,
                      unit = ends_in_unit ? "_s" : "";
    const bool is_rate = row.unit == Unit::tokens_per_second || row.unit == Unit::ratio;
    const double down = is_rate ? interval.factor : interval.faster(),
                 up = is_rate ? interval.faster() : interval.factor;
    s.add(stem + "_low" + unit, "", *value / down, row.unit);
    s.add(stem + "_high" + unit, "", *value * up, row.unit);
  }
}

}  // namespace llmcalc
