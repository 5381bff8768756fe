#include "report/fit_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "presets/formats/weight_formats.hpp"
#include "report/brief/brief.hpp"
#include "report/fit.hpp"
#include "report/infer/remedy_finding.hpp"
#include "report/interval.hpp"
#include "report/model/model_sections.hpp"
#include "report/question.hpp"
#include "report/report.hpp"
#include "report/served_run.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// The checkpoint's format: "bf16"; if there are several, the format of the experts or MLPs, which have the most
/// parameters: "mxfp4+".
std::string own_format(const FitRow& row) {
  if (row.weights.uniform()) return std::string(row.weights[Component::mlp].name());
  const DType most = std::min(row.weights[Component::experts], row.weights[Component::mlp],
                              [](DType a, DType b) { return bits_per_weight(a) < bits_per_weight(b); });
  return std::string(most.name()) + "+";
}

/// The format and the layers on the host: "q4_k_m", "q4_k_m, 30 layers on host".
std::string format_text(const FitRow& row) {
  const std::string format = row.format.empty() ? own_format(row) : row.format;
  if (row.layers_on_host > 0) return fmt::format("{}, {} on host", format, counted(row.layers_on_host, "layer"));
  return row.offload.empty() ? format : fmt::format("{}, {} on host", format, row.offload);
}

std::string gibibytes(Bytes b) { return fmt::format("{:.1f}", real(b.value) / real(Count{1} << 30)); }
/// A rate with few digits, because the interval of the estimate is wide.
std::string rate_text(double tokens_per_s) {
  return tokens_per_s < 10 ? fmt::format("{:.1f}", tokens_per_s) : grouped_digits(fmt::format("{:.0f}", tokens_per_s));
}

/// The estimated speed with its 90 % interval: "93 (52-167)".
std::string speed_text(const FitRow& row) {
  if (!row.speed_interval) return rate_text(row.speed);
  return fmt::format("{} ({}-{})", rate_text(row.speed), rate_text(row.speed / row.speed_interval->factor),
                     rate_text(row.speed * row.speed_interval->faster()));
}

std::string count_or_dash(std::optional<Count> n) { return n ? exact_text(*n) : "-"; }

/// The longest context that fits, up to the model's.
std::optional<Count> usable_context(const FitRow& row) {
  const auto& most = row.limits.max_context;
  return most ? std::optional(std::min(*most, std::max(row.context, row.tokens))) : std::nullopt;
}

json::Value fit_row_json(const FitRow& row) {
  json::Value v{{"model", row.model},
                {"parameters", row.parameters},
                {"weight_precision", weight_formats_json(row.weights)},
                {"precision", row.precision.name()},
                {"tokens", row.tokens},
                {"peak_bytes", row.peak.value},
                {"host_bytes", row.host.value},
                {"fit", name(row.fit.verdict)},
                {"fit_probability", row.fit.probability},
                {"tokens_per_s_per_sequence", row.speed},
                {"prompt_tokens_per_s", row.prompt_speed}};
  if (!row.format.empty()) v["format"] = row.format;
  if (!row.offload.empty()) v["offload"] = row.offload;
  if (row.limits.max_batch) v["max_batch"] = *row.limits.max_batch;
  if (row.limits.max_context) v["max_context"] = *row.limits.max_context;
  const auto add_ends_of = [&](const std::string& key, double value, const std::optional<EstimateInterval>& interval) {
    if (!interval) return;
    v[key + "_low"] = value / interval->factor;
    v[key + "_high"] = value * interval->faster();
  };
  add_ends_of("tokens_per_s_per_sequence", row.speed, row.speed_interval);
  add_ends_of("prompt_tokens_per_s", row.prompt_speed, row.prompt_interval);
  return v;
}

Grid runnable_grid(const std::vector<ModelFit>& models) {
  Grid g{.key = "runnable",
         .title = "",
         .columns = {"model", "weights", "GiB", "longest context", "largest batch", "tokens/s (9 of 10)",
                     "prompt tokens/s"},
         .left = 2,
         .spare = {"prompt tokens/s", "largest batch"},
         .rows = {}};
  for (const ModelFit& m : models)
    for (const FitRow& row : m.rows) {
      g.rows.push_back({row.model, format_text(row), gibibytes(row.peak), count_or_dash(usable_context(row)),
                        count_or_dash(row.limits.max_batch), speed_text(row), rate_text(row.prompt_speed)});
      g.json.push_back(fit_row_json(row));
    }
  return g;
}

/// Earliest release date in the short list: 18 months before this version.
constexpr std::string_view recent_since = "2025-05";
constexpr double usual_bits = 4, fast_enough = 10;

/// Whether the format keeps most weights in 4 bits or more and the speed exceeds reading speed.
bool is_comfortable(const FitRow& row) {
  const Component most =
      row.weights[Component::experts] == row.weights[Component::mlp] ? Component::mlp : Component::experts;
  return bits_per_weight(row.weights[most]) >= usual_bits && row.speed >= fast_enough;
}

/// A bar of memory against the capacity, and the size in GiB: "#####... 13.2".
std::string small_bar(Bytes used, Bytes capacity) {
  constexpr std::size_t cells = 8;
  const double share = std::min(1.0, real(used.value) / real(capacity.value));
  const auto filled = static_cast<std::size_t>(share * cells + 0.5);
  return fmt::format("{}{} {:>5}", std::string(filled, '#'), std::string(cells - filled, '.'), gibibytes(used));
}

std::string recent_rule() {
  return fmt::format("released since {}; first those in {:g} bits or more at {:g} tokens/s, largest first",
                     recent_since, usual_bits, fast_enough);
}

/// Recent models: comfortable models first, then the largest models.
Grid recent_grid(const Request& like, const std::vector<ModelFit>& models) {
  std::vector<const FitRow*> rows;
  for (const ModelFit& m : models)
    if (!m.rows.empty() && std::string_view(m.rows[0].released) >= recent_since) rows.push_back(&m.rows[0]);
  std::stable_sort(rows.begin(), rows.end(), [](const FitRow* a, const FitRow* b) {
    return std::pair(is_comfortable(*a), a->parameters) > std::pair(is_comfortable(*b), b->parameters);
  });
  constexpr std::size_t shown = 20;
  rows.resize(std::min(rows.size(), shown));
  Grid g{.key = "",
         .title = "",
         .columns = {"model", "weights", "memory, GiB", "context", "tokens/s"},
         .left = 3,
         .rows = {}};
  const Bytes capacity = capacity_to_fit(like);
  for (const FitRow* row : rows)
    g.rows.push_back({row->model, format_text(*row), small_bar(row->peak, capacity),
                      count_or_dash(usable_context(*row)), speed_text(*row)});
  return g;
}

/// Models without a row, and why. Only in JSON.
Grid left_out_models_grid(const Request& like, const FitQuestion& q, const std::vector<ModelFit>& models) {
  Grid g{.key = "left_out", .title = "", .columns = {}, .rows = {}};
  for (const ModelFit& m : models) {
    if (!m.rows.empty()) continue;
    json::Value row{{"model", m.model}, {"reason", m.why}};
    if (m.least) {
      row["weight_precision"] = weight_formats_json(m.least->weights);
      row["peak_bytes"] = m.least->peak.value;
      row["reason"] =
          m.least->fit.is_expected()
              ? fmt::format("slower than {:g} tokens/s", q.min_speed)
              : fmt::format("does not fit {}", like.machine.empty() ? like.hardware->name : like.hardware->word);
      if (m.least->fit.is_expected()) row["tokens_per_s_per_sequence"] = m.least->speed;
    }
    g.json.push_back(std::move(row));
  }
  return g;
}

Count parameters_of(const ModelFit& m) {
  if (!m.rows.empty()) return m.rows[0].parameters;
  return m.least ? m.least->parameters : 0;
}

/// The memory available to a model: "72.0 GiB, 90 % of the memory".
std::string room_of(const Request& r) {
  const double share = r.plan.memory_utilization;
  return fmt::format("{}, {:g} % of the memory", human_text(Quantity(memory_to_fit(r).value), Unit::bytes),
                     100 * share);
}

/// The smallest model that does not fit or is too slow.
const FitRow* smallest_missing(const std::vector<ModelFit>& models) {
  const FitRow* least = nullptr;
  for (const ModelFit& m : models)
    if (m.rows.empty() && m.least && (least == nullptr || m.least->parameters < least->parameters)) least = &*m.least;
  return least;
}

std::string missing_text(const Request& like, const FitRow& row) {
  if (row.fit.is_expected())
    return fmt::format("{} in {} reaches {} tokens/s", row.model, format_text(row), rate_text(row.speed));
  return fmt::format("{} in {} needs {}; available: {}", row.model, format_text(row), bytes_text(row.peak),
                     room_of(like));
}

std::string row_sentence(const FitRow& row) {
  const std::string host = row.host > Bytes() ? fmt::format(", {} of host memory", bytes_text(row.host)) : "";
  return fmt::format("{} in {}: {} tokens/s, context up to {}{}", row.model, format_text(row), rate_text(row.speed),
                     count_or_dash(usable_context(row)), host);
}

std::vector<Finding> fit_verdict(const Request& like, const FitQuestion& q, const std::vector<ModelFit>& models) {
  const auto with_rows = std::count_if(models.begin(), models.end(), [](const ModelFit& m) { return !m.rows.empty(); });
  const std::string how = q.min_speed > 0 ? fmt::format(" at {:g} tokens/s or more", q.min_speed) : "";
  const FitRow* missing = smallest_missing(models);
  std::vector<Finding> v{{"runs", fmt::format("{} of {} models{}", with_rows, models.size(), how), with_rows == 0}};
  if (with_rows > 0) v.push_back({"largest", row_sentence(models[0].rows[0])});
  if (missing != nullptr)
    v.push_back({.label = "excluded", .text = missing_text(like, *missing), .detail = !q.all_formats});
  return v;
}

/// Sorts models by size, largest first; models without a row come last.
void sort_by_size(std::vector<ModelFit>& models) {
  std::stable_sort(models.begin(), models.end(), [](const ModelFit& a, const ModelFit& b) {
    if (a.rows.empty() != b.rows.empty()) return b.rows.empty();
    return parameters_of(a) > parameters_of(b);
  });
}

/// Any model's request, for the device and the options that all models share. Throws InputError with the first model's
/// reason if no model can run.
const Request& any_request(const std::vector<ModelFit>& models) {
  for (const ModelFit& m : models)
    if (m.request) return *m.request;
  throw InputError(models.front().why);
}

/// The options common to all models, and the inputs of the question.
json::Value shared_inputs(const Request& like, const FitQuestion& q) {
  json::Value v = inputs_json(like);
  for (const char* of_model :
       {"--prompt", "--precision", "--weight-precision", "--kv-precision", "--mla", "--expert-load"})
    if (!like.gave(of_model)) v.erase(find_option(of_model)->key());
  if (q.context) v["context"] = *q.context;
  if (q.min_speed > 0) v["min_speed"] = q.min_speed;
  if (!q.use.empty()) v["use"] = q.use;
  return v;
}

Notes fit_notes(const Request& like, const FitQuestion& q, const std::vector<ModelFit>& models) {
  Notes notes;
  const Plan& p = like.plan;
  const Count tokens = q.context.value_or(add(p.prompt, p.generate));
  notes.push_back(
      {"speeds_of_context",
       fmt::format(
           "GiB and speeds are for {} of {} tokens, or of the model's maximum context, in {:g} % of the memory; "
           "tokens/s are per sequence",
           counted(p.batch, "sequence"), exact_text(tokens), 100 * p.memory_utilization)});
  if (like.engine)
    notes.push_back({"estimated_software",
                     fmt::format("estimates for {}; --software selects another engine", like.engine->named_version())});
  if (!q.all_formats)
    notes.push_back(
        {"widest_format",
         fmt::format("each model is in the widest weight format that fits; 'llmcalc fit MODEL --hardware {}' shows all "
                     "formats of a model; '+': some weights are wider, as in the checkpoint",
                     like.machine.empty() ? like.hardware->name : like.hardware->word)});
  const auto impossible = std::find_if(models.begin(), models.end(), [](const ModelFit& m) { return !m.why.empty(); });
  if (impossible != models.end())
    notes.push_back({"omitted_models", fmt::format("omitted, among others: {}", impossible->why)});
  return notes;
}

/// Adds the verdict on the first model, which can run if any can; for a single model that cannot run, adds remedies.
void add_verdict_of_first(const std::vector<ModelFit>& models, Report& report) {
  const ModelFit& first = models.front();
  if (!first.rows.empty()) {
    report.fit = first.rows.front().fit;
  } else if (first.least) {
    report.fit = first.least->fit;
    if (models.size() == 1 && !first.least->fit.is_expected())
      report.verdict.push_back(remedy_finding(InferenceAnswer(*first.request)));
  }
}

}  // namespace

Report fit_report(const FitQuestion& q, std::vector<ModelFit> models) {
  const Request like = any_request(models);
  sort_by_size(models);
  Report report;
  report.command = "fit";
  report.title = "Models that " + devices_of(like) + " can run";
  report.hardware = machine_json(like);
  report.inputs = shared_inputs(like, q);
  report.verdict = fit_verdict(like, q, models);
  add_verdict_of_first(models, report);
  report.grids = {runnable_grid(models), left_out_models_grid(like, q, models)};
  report.notes = fit_notes(like, q, models);
  note_wider_inference(like, report);
  note_served_run(like, report);
  report.brief = brief_of(like, "decode.time_per_token_s", false);
  report.brief->with_grid = true;
  report.brief->lines = 30;
  if (!q.all_formats) {
    report.brief->grid = recent_grid(like, models);
    report.brief->findings.push_back({"order", recent_rule()});
  }
  return report;
}

}  // namespace llmcalc
