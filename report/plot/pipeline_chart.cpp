#include <fmt/format.h>

#include <map>

#include "report/plot/report_charts.hpp"
#include "report/plot/report_numbers.hpp"

namespace llmcalc::plot {
namespace {

constexpr std::size_t most_spans = 6000;
constexpr double microsecond = 1e-6;

/// Slots of the trace by pipeline rank.
std::map<Count, Lane> lanes_of(const json::Value& trace) {
  std::map<Count, Lane> lanes;
  const json::Value* events = value_at(trace, "traceEvents");
  if (events == nullptr) return lanes;
  for (const json::Value& e : *events) {
    if (text_at(e, "ph") != "X" || number_at(e, "tid") != 0) continue;
    const auto rank = static_cast<Count>(number_at(e, "pid").value_or(0));
    const double begin = microsecond * number_at(e, "ts").value_or(0);
    Lane& lane = lanes[rank];
    lane.name = fmt::format("stage {}", rank + 1);
    lane.spans.push_back(
        {begin, begin + microsecond * number_at(e, "dur").value_or(0), words_of_key(text_at(e, "cat"))});
  }
  return lanes;
}

}  // namespace

std::optional<Chart> pipeline_chart(const json::Value& report, const std::string& trace) {
  if (trace.empty()) return std::nullopt;
  Timeline timeline{.time = {"time", Unit::seconds}};
  std::size_t spans = 0;
  for (auto& [rank, lane] : lanes_of(json::parse(trace, "trace"))) {
    spans += lane.spans.size();
    timeline.lanes.push_back(std::move(lane));
  }
  if (timeline.lanes.size() < 2 || spans > most_spans) return std::nullopt;
  return Chart{"", "Pipeline", "Slots of every pipeline rank during a step: " + subject_of_report(report), timeline};
}

}  // namespace llmcalc::plot
