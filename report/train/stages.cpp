#include "report/train/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ask/answer/process_estimate.hpp"
#include "ask/request/options/option_values.hpp"
#include "report/question.hpp"
#include "report/train/process_section.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

constexpr std::array memory_parts{
    std::pair{"weights_bytes", &Memory::weights},     std::pair{"gradients_bytes", &Memory::gradients},
    std::pair{"optimizer_bytes", &Memory::optimizer}, std::pair{"activations_bytes", &Memory::activations},
    std::pair{"logits_bytes", &Memory::logits},       std::pair{"gathered_bytes", &Memory::gathered},
    std::pair{"buckets_bytes", &Memory::buckets},     std::pair{"exchange_bytes", &Memory::collective_call},
    std::pair{"workspace_bytes", &Memory::workspace}, std::pair{"process_bytes", &Memory::process},
    std::pair{"total_bytes", &Memory::total},         std::pair{"peak_bytes", &Memory::peak},
    std::pair{"transit_bytes", &Memory::transit},     std::pair{"host_bytes", &Memory::host}};

bool has(const Request& r, const Memory& m, Bytes Memory::*part) {
  const bool optional = part == &Memory::gathered || part == &Memory::buckets || part == &Memory::collective_call ||
                        part == &Memory::transit || part == &Memory::host || part == &Memory::process ||
                        (part == &Memory::logits && ranks(r.layout, Group::pipeline) > 1);
  return !optional || m.*part != Bytes();
}

/// Whether the schedule runs weight gradients separately, which micro-batches may then wait for.
bool splits(const Request& r) {
  return ranks(r.layout, Group::pipeline) > 1 && splits_backward(pipeline_of(r.plan, r.layout).schedule);
}

json::Value stage_json(const Request& r, const Stage& s) {
  json::Value v{{"stage", s.rank}, {"layers", s.layers}, {"in_flight", s.in_flight}};
  if (splits(r)) v["for_weights"] = s.for_weights;
  for (const auto& [key, part] : memory_parts)
    if (has(r, s.memory, part)) v[key] = (s.memory.*part).value;
  if (!r.hardware) return v;
  v["capacity_bytes"] = r.hardware->cluster.device.memory.value;
  v["fits"] = s.memory.peak <= usable_memory(r) && r.hardware->cluster.device.host.holds(s.memory.host);
  return v;
}

/// Number of layers in each chunk, from the start of the model, in the syntax of --stage-layers.
std::string spread(const Partition& partition) {
  std::vector<Count> all;
  for (Count q = 0; q < partition.size(); ++q) all.push_back(partition[q].layers());
  return stage_layers_text(all);
}

Grid stages_grid(const TrainingAnswer& a) {
  const Request& r = a.request();
  const Stages& all = a.stages();
  const auto& process = a.process();
  Grid g;
  g.key = "stages";
  for (const Stage& s : all.stages) {
    g.json.push_back(stage_json(r, s));
    if (process) g.json.back()["process"] = process_json(process->stages[static_cast<std::size_t>(s.rank)]);
  }
  if (!r.stages) return g;
  g.title = "pipeline stages, one GPU each";
  g.columns = {"stage", "layers", "in flight", "states", "activations", "peak"};
  if (splits(r)) g.columns.insert(g.columns.begin() + 3, "for weights");
  if (process) g.columns.push_back("process");
  for (const Stage& s : all.stages) {
    const Memory& m = s.memory;
    g.rows.push_back({fmt::format("{}", s.rank + 1), fmt::format("{}", s.layers), fmt::format("{}", s.in_flight),
                      bytes_text(m.weights + m.gradients + m.optimizer), bytes_text(m.activations),
                      bytes_text(m.peak)});
    if (splits(r)) g.rows.back().insert(g.rows.back().begin() + 3, fmt::format("{}", s.for_weights));
    if (process) g.rows.back().push_back(bytes_text(needed(process->stages[static_cast<std::size_t>(s.rank)])));
  }
  return g;
}

}  // namespace

void add_stages(const TrainingAnswer& a, Report& report) {
  const Request& r = a.request();
  report.grids.push_back(stages_grid(a));
  if (ranks(r.layout, Group::pipeline) == 1 || !r.layout.stage_layers.empty()) return;
  report.notes.push_back(
      {"balanced_stages", fmt::format("layers are distributed over the {} as --stage-layers {}",
                                      r.layout.chunks > 1 ? "chunks" : "stages", spread(a.stages().partition))});
}

Section layout_section(const Request& r) {
  Section s{"layout", "", {}};
  s.add("gpus", "", devices(r.layout), Unit::none);
  s.add("dp", "", r.layout.dp, Unit::none);
  s.add("micro_batches", "", micro_batches(r.plan, r.layout), Unit::none);
  return s;
}

Section fullest_stage_section(const TrainingAnswer& a) {
  const Request& r = a.request();
  Section s{"stages", "", {}};
  if (ranks(r.layout, Group::pipeline) == 1) return s;
  const Stage& fullest = a.stages().fullest();
  s.add("layers", "", fullest.layers, Unit::none);
  s.add("in_flight", "", fullest.in_flight, Unit::none);
  if (splits(r)) s.add("for_weights", "", fullest.for_weights, Unit::none);
  return s;
}

json::Value layout_json(const Request& r) {
  const Layout& l = r.layout;
  json::Value v{{"gpus", devices(l)},
                {"tp", ranks(l, Group::tensor)},
                {"sp", sequence_parallel(l)},
                {"cp", ranks(l, Group::context)},
                {"ep", ranks(l, Group::expert)},
                {"etp", ranks(l, Group::expert_tensor)},
                {"pp", ranks(l, Group::pipeline)},
                {"chunks", l.chunks},
                {"schedule", name(pipeline_of(r.plan, l).schedule)},
                {"dp", l.dp},
                {"zero", static_cast<int>(l.zero)},
                {"micro_batches", micro_batches(r.plan, l)}};
  if (ranks(l, Group::pipeline) > 1) v["stage_layers"] = spread(partition_of(r));
  return v;
}

}  // namespace llmcalc
