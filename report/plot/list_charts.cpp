#include <fmt/format.h>

#include <algorithm>

#include "report/plot/report_charts.hpp"
#include "report/plot/report_numbers.hpp"

namespace llmcalc::plot {
namespace {

/// Reads a point from each entry of a list; empty if the report lacks it.
template <typename Read>
std::vector<Point> points_of(const json::Value& report, const char* path, const Read& read) {
  std::vector<Point> all;
  const json::Value* list = value_at(report, path);
  if (list == nullptr || !list->is_array()) return all;
  for (const json::Value& entry : *list)
    if (const std::optional<Point> p = read(entry)) all.push_back(*p);
  return all;
}

/// A point with both numbers, and the interval of y if the entry has it.
std::optional<Point> point_at(const json::Value& entry, const char* x, const char* y, std::string name,
                              const char* low = "", const char* high = "") {
  const auto across = number_at(entry, x), up = number_at(entry, y);
  if (!across || !up) return std::nullopt;
  Point p{.x = *across, .y = *up, .name = std::move(name)};
  const auto least = *low == 0 ? std::nullopt : number_at(entry, low),
             most = *high == 0 ? std::nullopt : number_at(entry, high);
  if (least && most) p.ends = Ends{*least, *most};
  return p;
}

std::string layout_text(const json::Value& plan) {
  std::string text;
  for (const char* key : {"tp", "cp", "ep", "pp", "dp"})
    if (const auto n = number_at(plan, fmt::format("layout.{}", key)); n && *n > 1)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, *n);
  return text.empty() ? "one GPU" : text;
}

}  // namespace

std::optional<Chart> plans_chart(const json::Value& report) {
  auto points = points_of(report, "plans", [](const json::Value& plan) {
    return point_at(plan, "memory.peak_bytes", "step.time_s", layout_text(plan), "step.time_low_s", "step.time_high_s");
  });
  if (points.size() < 2) return std::nullopt;
  return Chart{"", "Best plans", "Step time and memory of the best plans: " + subject_of_report(report),
               Curves{.x = {"peak memory per GPU", Unit::bytes, Spacing::close},
                      .y = {"step time", Unit::seconds, Spacing::close},
                      .series = {{.name = "plans", .mark = Mark::points, .points = std::move(points)}}}};
}

std::optional<Chart> models_chart(const json::Value& report) {
  auto points = points_of(report, "runnable", [](const json::Value& m) {
    return point_at(m, "peak_bytes", "tokens_per_s_per_sequence",
                    text_at(m, "model") + " " + text_at(m, "weight_precision"), "tokens_per_s_per_sequence_low",
                    "tokens_per_s_per_sequence_high");
  });
  if (points.empty()) return std::nullopt;
  return Chart{"", "Models that fit", "Speed and memory of each model on " + text_at(report, "hardware.name"),
               Curves{.x = {"memory", Unit::bytes},
                      .y = {"tokens per second", Unit::none, Spacing::logarithmic},
                      .series = {{.name = "models", .mark = Mark::points, .points = std::move(points)}}}};
}

std::optional<Chart> requests_chart(const json::Value& report) {
  std::vector<Series> series;
  for (const auto& [key, name] : {std::pair{"in_progress", "in progress"}, {"waiting", "waiting"}}) {
    auto points = points_of(report, "timeline",
                            [key = key](const json::Value& sample) { return point_at(sample, "start_s", key, ""); });
    if (points.size() > 1) series.push_back({.name = name, .points = std::move(points)});
  }
  if (series.empty()) return std::nullopt;
  return Chart{"", "Requests over time", "Requests in progress and waiting: " + subject_of_report(report),
               Curves{.x = {"time", Unit::seconds}, .y = {"requests", Unit::none}, .series = std::move(series)}};
}

std::optional<Chart> accuracy_chart(const json::Value& report) {
  auto points = points_of(report, "rows", [](const json::Value& row) -> std::optional<Point> {
    const auto predicted = number_at(row, "predicted"), measured = number_at(row, "measured");
    if (!predicted || !measured || *measured <= 0) return std::nullopt;
    Point p{.x = *measured, .y = *predicted, .name = text_at(row, "id") + " " + text_at(row, "quantity")};
    if (const auto low = number_at(row, "low"), high = number_at(row, "high"); low && high) p.ends = Ends{*low, *high};
    return p;
  });
  if (points.empty()) return std::nullopt;
  double least = points[0].x, most = points[0].x;
  for (const Point& p : points) least = std::min(least, p.x), most = std::max(most, p.x);
  return Chart{"", "Predicted against measured", "Each published value and its prediction, in the units of the row",
               Curves{.x = {"measured", Unit::none, Spacing::logarithmic},
                      .y = {"predicted", Unit::none, Spacing::logarithmic},
                      .series = {{.name = "equal", .points = {{.x = least, .y = least}, {.x = most, .y = most}}},
                                 {.name = "predictions", .mark = Mark::points, .points = std::move(points)}}}};
}

}  // namespace llmcalc::plot
