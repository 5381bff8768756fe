#include <algorithm>
#include <array>

#include "report/plot/report_charts.hpp"
#include "report/plot/report_numbers.hpp"

namespace llmcalc::plot {
namespace {

constexpr std::array operator_tables{std::pair{"ops", "operators"}, std::pair{"prefill_ops", "prefill"},
                                     std::pair{"decode_ops", "decode"}};

/// FLOPs per byte and FLOP/s of an operator's forward and backward passes; absent without FLOPs or time.
std::optional<Point> point_of(const json::Value& op) {
  const auto number = [&](const char* key) { return number_at(op, key).value_or(0); };
  const double flops = number("forward_flops") + number("backward_flops") + number("recomputed_flops"),
               bytes = number("forward_moved_bytes") + number("backward_moved_bytes"), time = number("time_s");
  if (flops <= 0 || bytes <= 0 || time <= 0) return std::nullopt;
  return Point{.x = flops / bytes, .y = flops / time, .name = text_at(op, "name")};
}

Series series_of(const json::Value& report, const char* table, const char* name) {
  Series s{.name = name, .mark = Mark::points};
  const json::Value* ops = value_at(report, table);
  if (ops == nullptr || !ops->is_array()) return s;
  for (const json::Value& op : *ops)
    if (const auto point = point_of(op)) s.points.push_back(*point);
  return s;
}

/// The roof from the least to the greatest intensity: bandwidth x intensity, at most the peak.
Series roof_of(double bandwidth, double peak, const std::vector<Series>& operators) {
  double least = peak / bandwidth, most = least;
  for (const Series& s : operators)
    for (const Point& p : s.points) least = std::min(least, p.x), most = std::max(most, p.x);
  const double ridge = peak / bandwidth;
  return {.name = "roofline",
          .points = {{.x = least, .y = std::min(peak, bandwidth * least)},
                     {.x = ridge, .y = peak, .name = "ridge"},
                     {.x = 2 * most, .y = peak}}};
}

}  // namespace

std::optional<Chart> roofline_chart(const json::Value& report) {
  const auto bandwidth = number_at(report, "hardware.memory_bytes_per_s");
  const auto peak = number_at(report, "hardware.peak_flops." + text_at(report, "inputs.precision"));
  if (!bandwidth || !peak) return std::nullopt;
  std::vector<Series> operators;
  for (const auto& [table, name] : operator_tables)
    if (Series s = series_of(report, table, name); !s.points.empty()) operators.push_back(std::move(s));
  if (operators.empty()) return std::nullopt;
  operators.insert(operators.begin(), roof_of(*bandwidth, *peak, operators));
  return Chart{
      "", "Roofline",
      "FLOP/s of each operator by its FLOPs per byte, below the datasheet's limits: " + subject_of_report(report),
      Curves{.x = {"FLOPs per byte", Unit::none, Spacing::logarithmic},
             .y = {"FLOP/s", Unit::flops, Spacing::logarithmic},
             .series = std::move(operators)}};
}

}  // namespace llmcalc::plot
