#include "report/software.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "presets/load.hpp"
#include "text/error.hpp"

namespace llmcalc {
namespace {

bool is_given_by_hand(const Request& r) {
  return r.plan.efficiency || r.plan.memory_efficiency || r.plan.roofline == Roofline::step;
}

}  // namespace

std::string_view usual_software(const Request& r) {
  const bool cut = ranks(r.layout, Group::tensor) > 1 || ranks(r.layout, Group::pipeline) > 1;
  return cut || r.searches_layouts ? "megatron-lm" : "torch-fsdp";
}

namespace {

bool begins_with(const std::string& name, std::initializer_list<const char*> begins) {
  return std::any_of(begins.begin(), begins.end(), [&](const char* b) { return name.starts_with(b); });
}

/// Devices at which one user runs one model.
bool is_personal(const HardwareCard& card) {
  const Chip chip = chip_of(card);
  const bool processor = begins_with(card.name, {"amd-epyc", "intel-xeon", "nvidia-grace-cpu"});
  return chip == Chip::apple || chip == Chip::unified || processor ||
         begins_with(card.name, {"rtx-20", "rtx-30", "rtx-40", "rtx-50", "rx-"});
}

}  // namespace

std::string_view usual_engine(const Request& r) {
  const HardwareCard& card = *r.hardware;
  if (chip_of(card) == Chip::neuron) return "transformers-neuronx";
  if (chip_of(card) == Chip::gaudi) return "optimum-habana";
  if (card.name.starts_with("tpu")) return "jetstream";
  return is_personal(card) && ranks(r.layout, Group::tensor) == 1 ? "llama.cpp" : "vllm";
}

void choose_software(Request& r) {
  if (!r.hardware || !r.has(part::time) || is_given_by_hand(r) || r.without_software) return;
  if (!r.software && r.has(part::training)) r.software = load_software(usual_software(r));
  if (!r.has(part::of_inference)) return;
  const bool given = r.engine && r.gave("--software");
  if (!given && (!r.engine || r.engine->name != usual_engine(r))) r.engine = load_software(usual_engine(r));
}

void check_software(const Request& r, Parts parts) {
  const bool trains = (parts & part::training) != 0;
  // Only times of inference depend on an engine.
  const bool infers = (parts & part::of_inference) != 0 && (parts & part::time) != 0;
  if (trains == infers || !r.gave("--software")) return;
  const SoftwareCard* other = trains ? (r.engine ? &*r.engine : nullptr) : r.software ? &*r.software : nullptr;
  if (other != nullptr)
    throw InputError(
        fmt::format("--software: {} is for {}, and the question is about {}; 'llmcalc list software' shows "
                    "what there is for it",
                    other->name, trains ? "inference" : "training", trains ? "training" : "inference"));
}

Count vocabulary_multiple(const Request& r) {
  if (r.software) return r.software->vocabulary_multiple;
  return r.without_software || is_given_by_hand(r) ? 1 : load_software(usual_software(r)).vocabulary_multiple;
}

Request for_training(Request r) {
  r.layout.vocabulary_multiple = vocabulary_multiple(r);
  if (r.software)
    r.hardware->cluster.device.achieved =
        training_rates(training_estimator().parameters, *r.hardware, stack_of(*r.software, r.model.arch, r.plan));
  return r;
}

Request for_inference(Request r) {
  if (r.engine)
    r.hardware->cluster.device.achieved =
        inference_rates(inference_estimator().parameters, *r.hardware, *r.engine->inference, r.plan);
  return r;
}

void scale_peaks(HardwareCard& card, double times) {
  for (FlopsPerSecond& peak : card.cluster.device.peaks) peak = times * peak;
  if (!card.measured) return;
  Achieved& a = card.measured->rates;
  for (auto* cores : {&a.flash, &a.naive, &a.plain})
    for (CoreRates& c : *cores) c = {times * c.forward, times * c.backward};
}

namespace {

/// "products in bf16, memory, launches"
std::string measured_text(const MeasuredRates& m) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < peak_count; ++i)
    if (m.products[i]) parts.push_back(fmt::format("products in {}", peak_names[i]));
  const auto add = [&](bool measured, const char* what) {
    if (measured) parts.emplace_back(what);
  };
  const auto has_core = [](const CoreRates& c) { return c.forward.value > 0; };
  add(std::any_of(m.rates.flash.begin(), m.rates.flash.end(), has_core), "attention");
  add(m.memory, "memory");
  add(m.links, "links");
  add(m.rates.launch.value > 0, "launches");
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

namespace {

/// Whether the hardware file has times of the engine's own operators.
bool has_operators_of_engine(const Request& r) {
  return r.engine && r.hardware->measured && r.hardware->measured->engine == r.engine->name;
}

/// "decode under load 1.29 -> 1.2"
std::vector<std::string> narrowed_classes() {
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
        "the interval, a factor either way, is narrower by what replays of servers from such tables were "
        "off ({}); of other figures it is that of their class",
        fmt::join(narrowed_classes(), ", "));
  return "the interval is that of its class: no published source measured both a machine's operators and whole runs "
         "under this software, so nothing says how much narrower it is";
}

}  // namespace

void note_measured_device(const Request& r, Report& report) {
  const auto& measured = r.hardware->measured;
  if (!measured || (!r.software && !r.engine)) return;
  report.notes.push_back(
      fmt::format("measured on the device: {}; the rest of the estimate has the defaults of its "
                  "class; {}",
                  measured_text(*measured), interval_of_measured_text(r)));
}

namespace {
/// Whether rows of the fit, or a calibration, were measured on the device.
template <typename Estimator>
bool stands_on_runs(const Estimator& e, const HardwareCard& card) {
  return e.measured(card.name) || card.measured;
}

void note_unmeasured(const HardwareCard& card, const char* in, bool of_no_kind, Report& report) {
  report.notes.push_back(
      fmt::format("no published {} run was on {}: its shares of bandwidth and peak are those of {}, and the interval "
                  "is no narrower than that of an assumed input",
                  in, card.name, of_no_kind ? "other devices" : "devices of its kind"));
}

/// A device that was measured, of a kind that was measured too seldom for shares of its own.
void note_rare_kind(const HardwareCard& card, const char* in, Report& report) {
  report.notes.push_back(
      fmt::format("too few published {} runs were on devices of {}'s kind: its shares of bandwidth and peak are those "
                  "of other devices, and the interval is no narrower than that of an assumed input",
                  in, card.name));
}
}  // namespace

void note_wider_training(const Request& r, Report& report) {
  if (!r.software) return;
  const bool rare = silicon_of(*r.hardware) == Silicon::other;
  if (!stands_on_runs(training_estimator(), *r.hardware)) return note_unmeasured(*r.hardware, "training", rare, report);
  if (rare) note_rare_kind(*r.hardware, "training", report);
}
void note_wider_inference(const Request& r, Report& report) {
  if (!r.engine) return;
  const bool rare = chip_of(*r.hardware) == Chip::other;
  if (!stands_on_runs(inference_estimator(), *r.hardware))
    return note_unmeasured(*r.hardware, "inference", rare, report);
  if (rare) note_rare_kind(*r.hardware, "inference", report);
}

EstimateClass class_of(const Request& r) {
  return estimate_class(r.model.arch, *r.hardware, !stands_on_runs(training_estimator(), *r.hardware));
}

std::optional<EstimateInterval> interval_of(const Request& r) {
  if (!r.software || is_given_by_hand(r) || r.plan.overlap) return std::nullopt;
  const bool measured = r.run.measured_scale != 1;
  const EstimateInterval i =
      measured ? training_estimator().interval_once_measured(class_of(r)) : training_estimator().interval(class_of(r));
  return i.known() ? std::optional(i) : std::nullopt;
}

InferenceClass class_of(const Request& r, InferenceClass kind) {
  const bool known = chip_of(*r.hardware) != Chip::other && stands_on_runs(inference_estimator(), *r.hardware);
  return known ? kind : class_on_unmeasured(inference_estimator(), kind);
}

std::optional<EstimateInterval> interval_of(const Request& r, const TrainEstimate& e) {
  const auto interval = interval_of(r);
  return interval ? std::optional(interval->above(e.bound.total(), e.estimate.total())) : std::nullopt;
}

std::optional<EstimateInterval> interval_of(const Request& r, InferenceClass kind) {
  if (!r.engine || is_given_by_hand(r) || r.plan.overlap) return std::nullopt;
  if (r.serving.draft_tokens > 0 || r.serving.pools) return std::nullopt;
  const EstimateInterval i = has_operators_of_engine(r)
                                 ? inference_estimator().interval_once_measured(class_of(r, kind))
                                 : inference_estimator().interval(class_of(r, kind));
  return i.known() ? std::optional(i) : std::nullopt;
}

std::string interval_text(double low, double high, Unit unit) {
  const std::string a = human_text(low, unit), b = human_text(high, unit);
  const std::string unit_of_a = a.substr(a.find(' ')), unit_of_b = b.substr(b.find(' '));
  return fmt::format("{} to {}", unit_of_a == unit_of_b ? a.substr(0, a.find(' ')) : a, b);
}

std::string interval_text(const EstimateInterval& interval, double time, Unit unit) {
  return interval_text(time / interval.faster(), time * interval.factor, unit);
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
