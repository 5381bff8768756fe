#include "report/plot/charts.hpp"

#include <array>
#include <optional>

#include "report/plot/report_charts.hpp"
#include "report/plot/report_numbers.hpp"

namespace llmcalc::plot {
namespace {

/// A kind of chart and the function that reads it from a report.
struct ReportChart {
  ChartKind kind;
  std::optional<Chart> (*read)(const json::Value& report, const std::string& trace);
};

template <std::optional<Chart> (*read)(const json::Value&)>
std::optional<Chart> without_trace(const json::Value& report, const std::string&) {
  return read(report);
}

constexpr std::array report_charts{
    ReportChart{{"memory", "memory of each stage against the capacity", "train, infer, memory, serve"},
                without_trace<memory_chart>},
    ReportChart{{"breakdown", "time of a step or pass by part", "train, infer"}, without_trace<breakdown_chart>},
    ReportChart{{"roofline", "operators below the device's roofline", "train, infer"}, without_trace<roofline_chart>},
    ReportChart{{"sensitivity", "gain from a 10 % faster part of the machine", "train, infer"},
                without_trace<sensitivity_chart>},
    ReportChart{{"pipeline", "slots of every pipeline rank over time", "train with --pp"}, pipeline_chart},
    ReportChart{{"requests", "requests in progress and waiting over time", "serve"}, without_trace<requests_chart>},
    ReportChart{{"plans", "step time against memory of the best plans", "plan train"}, without_trace<plans_chart>},
    ReportChart{{"models", "speed against memory of the models that fit", "fit"}, without_trace<models_chart>},
    ReportChart{{"accuracy", "predicted against measured values", "accuracy --rows"}, without_trace<accuracy_chart>}};

constexpr std::array curve_kinds{ChartKind{"batch", "time per token and throughput by batch size", "infer"},
                                 ChartKind{"context", "time per token by context length", "infer"},
                                 ChartKind{"load", "latency by request rate", "serve"}};

}  // namespace

std::span<const ChartKind> chart_kinds() {
  static const std::vector<ChartKind> all = [] {
    std::vector<ChartKind> v;
    for (const ReportChart& c : report_charts) v.push_back(c.kind);
    v.insert(v.end(), curve_kinds.begin(), curve_kinds.end());
    return v;
  }();
  return all;
}

namespace {

/// Replaces the keys of parts by their labels.
void name_parts(Chart& chart, const Labels& labels) {
  auto* const bars = std::get_if<Bars>(&chart.content);
  if (bars == nullptr) return;
  const auto named = [&](std::string& key) {
    const auto found = labels.find(key);
    key = found == labels.end() ? words_of_key(key) : found->second;
  };
  for (Bar& bar : bars->bars) {
    for (auto& [name, value] : bar.parts) named(name);
    if (chart.key == "sensitivity") named(bar.name);
  }
}

}  // namespace

std::vector<Chart> charts_of(const json::Value& report, const Labels& labels, const std::string& trace) {
  std::vector<Chart> all;
  for (const ReportChart& c : report_charts)
    if (auto chart = c.read(report, trace)) {
      chart->key = c.kind.key;
      name_parts(*chart, labels);
      all.push_back(std::move(*chart));
    }
  return all;
}

}  // namespace llmcalc::plot
