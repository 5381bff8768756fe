#include "report/infer/engine_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "ask/request/machine.hpp"
#include "ask/request/options/option_values.hpp"
#include "report/question.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t most_listed_stages = 3;

std::string layers_of(const Placement& p) {
  const StageLayers layers = p.layers();
  return stage_layers_text({layers.begin(), layers.size()});
}

/// Seconds of the stage's part of a decode step at mid-generation.
Seconds stage_seconds(const InferenceAnswer& a, std::size_t i) {
  const Request& r = a.request();
  const PassStages one({a.pass_stages().all[i]});
  return decode(r.model.arch, r.plan, r.layout, one, r.plan.prompt + r.plan.generate / 2).estimate.total();
}

std::string label_of(const InferenceAnswer& a, std::size_t i) {
  if (!has_unlike_devices(a.request())) return fmt::format("stage {}", i + 1);
  return title(*a.placement()->stages()[i].request.hardware);
}

/// A stage's layers, memory and time: "layers 1-54, 21.20 of 24.00 GiB, 24.10 ms per token".
std::string stage_text(const InferenceAnswer& a, std::size_t i, bool timed) {
  const EngineStage& s = a.placement()->stages()[i];
  const std::string all = bytes_text(s.request.hardware->cluster.device.memory);
  std::string text = fmt::format("layers {}-{}, {:.2f} of {}", s.request.stage->first + 1, s.request.stage->end,
                                 real(s.capacity.memory().peak.value) / real(Count{1} << 30), all);
  if (timed) text += fmt::format(", {} per token", seconds_text(stage_seconds(a, i)));
  return text;
}

json::Value stage_row(const InferenceAnswer& a, std::size_t i, bool timed) {
  const EngineStage& s = a.placement()->stages()[i];
  const Memory m = s.capacity.memory();
  json::Value row{{"stage", i},
                  {"device", s.request.hardware->name},
                  {"layers", s.request.stage->layers()},
                  {"weights_bytes", m.weights.value},
                  {"kv_cache_bytes", m.kv_cache.value},
                  {"workspace_bytes", m.workspace.value},
                  {"process_bytes", m.process.value},
                  {"peak_bytes", m.peak.value},
                  {"capacity_bytes", s.request.hardware->cluster.device.memory.value},
                  {"fits", s.capacity.holds_batch()}};
  if (timed) row["time_per_token_s"] = stage_seconds(a, i).value;
  return row;
}

std::string split_note(const InferenceAnswer& a) {
  const Request& r = a.request();
  const bool by_memory = r.engine->gguf_weights;
  return fmt::format("{} splits the layers {} over the devices, {}; the time of a token is the sum over the devices{}",
                     r.engine->name, layers_of(*a.placement()),
                     r.gave("--stage-layers") ? "as given"
                     : by_memory              ? "by free memory, moved where a device is full"
                                              : "an even split",
                     by_memory ? ", and the passes of a prompt overlap between them" : "");
}

/// A faster split of the layers: "--stage-layers 31,1: 20.92 ms per token"; empty if none saves time.
std::string faster_text(const InferenceAnswer& a) {
  constexpr double worth = 0.98;
  const StageLayers layers = a.placement()->fastest_first();
  if (layers.empty()) return "";
  Request r = a.request();
  r.layout.stage_layers = layers;
  const InferenceAnswer then(std::move(r));
  const Seconds token = then.estimate().middle.estimate.total();
  if (!then.fits() || token > worth * a.estimate().middle.estimate.total()) return "";
  return fmt::format("--stage-layers {}: {} per token", layers_of(*then.placement()), seconds_text(token));
}

}  // namespace

std::string memory_place(const InferenceAnswer& a) {
  if (!a.request().hardware || !has_unlike_devices(a.request())) return "per GPU";
  return "on " + title(*a.fullest_request().hardware);
}

void add_engine_stages(const InferenceAnswer& a, bool timed, Report& report) {
  if (!a.request().hardware || !a.placement()) return;
  const std::size_t n = a.placement()->stages().size();
  if (n > most_listed_stages)
    report.verdict.push_back({"layers", layers_of(*a.placement()) + " on the devices in order"});
  Grid grid{.key = "stages", .title = "", .columns = {}, .rows = {}};
  for (std::size_t i = 0; i < n; ++i) {
    report.verdict.push_back(
        {.label = label_of(a, i), .text = stage_text(a, i, timed), .detail = n > most_listed_stages});
    grid.json.push_back(stage_row(a, i, timed));
  }
  if (const std::string text = timed ? faster_text(a) : ""; !text.empty()) report.verdict.push_back({"faster", text});
  report.grids.push_back(std::move(grid));
  report.notes.push_back({"device_split", split_note(a)});
}

}  // namespace llmcalc
