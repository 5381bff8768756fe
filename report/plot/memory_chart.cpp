#include <algorithm>
#include <array>

#include "report/plot/report_charts.hpp"
#include "report/plot/report_numbers.hpp"
#include "report/render/render.hpp"
#include "text/names.hpp"

namespace llmcalc::plot {
namespace {

/// Sums and limits of a memory section, as opposed to its parts.
bool is_part(std::string_view key) {
  constexpr std::array others{"total_bytes", "peak_bytes", "capacity_bytes", "granted_bytes", "needed_bytes"};
  return key.ends_with("_bytes") && std::find(others.begin(), others.end(), key) == others.end();
}

/// A bar of a section with memory in bytes; the parts of its process follow those of its tensors.
Bar bar_of(const json::Value& section, std::string name) {
  Bar bar{.name = std::move(name), .parts = {}, .limit = number_at(section, "capacity_bytes")};
  for (const auto& [key, value] : section.items())
    if (const auto bytes = is_part(key) ? number_of(value) : std::nullopt; bytes && *bytes > 0)
      bar.parts.emplace_back(key, *bytes);
  for (const char* key : {"workspaces_bytes", "process_bytes", "slack_bytes"})
    if (const auto bytes = number_at(section, "process." + std::string(key)); bytes && *bytes > 0)
      bar.parts.emplace_back(key, *bytes);
  return bar;
}

void add_stages(Bars& bars, const json::Value& report) {
  const json::Value* stages = value_at(report, "stages");
  if (stages == nullptr || !stages->is_array() || stages->size() < 2) return;
  for (const json::Value& stage : *stages)
    bars.bars.push_back(bar_of(stage, "stage " + std::to_string(bars.bars.size() + 1)));
}

}  // namespace

std::optional<Chart> memory_chart(const json::Value& report) {
  Bars bars{.value = {"bytes per GPU", Unit::bytes}};
  add_stages(bars, report);
  const bool staged = !bars.bars.empty();
  for (const auto& [path, name] :
       {std::pair{"memory", "training"}, {"inference_memory", "inference"}, {"engine_memory", "server"}}) {
    const json::Value* section = value_at(report, path);
    if (section == nullptr || !section->is_object() || (staged && std::string_view(path) == "memory")) continue;
    Bar bar = bar_of(*section, name);
    if (!bar.limit) bar.limit = number_at(report, "hardware.memory_bytes");
    if (!bar.parts.empty()) bars.bars.push_back(std::move(bar));
  }
  if (bars.bars.empty()) return std::nullopt;
  return Chart{"", "Memory", "Memory per GPU by part, against the capacity: " + subject_of_report(report), bars};
}

}  // namespace llmcalc::plot
