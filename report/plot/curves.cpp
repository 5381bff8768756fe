#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/ask.hpp"
#include "report/plot/charts.hpp"
#include "report/plot/report_numbers.hpp"

namespace llmcalc::plot {
namespace {

/// The request that a report answers.
json::Value request_of(const json::Value& report) {
  json::Value request{{"command", report["command"]}, {"inputs", report["inputs"]}};
  for (const char* key : {"model", "hardware"})
    if (const json::Value* name = value_at(report, fmt::format("{}.name", key))) request[key] = *name;
  return request;
}

/// Answers to the request with other values of one input, in order; refusals are answers without numbers.
std::vector<json::Value> answers(const json::Value& request, const char* input, const std::vector<double>& values) {
  std::vector<json::Value> all;
  for (const double value : values) {
    json::Value changed = request;
    const bool whole = value == std::floor(value);
    changed["inputs"][input] = whole ? json::Value(std::llround(value)) : json::Value(value);
    all.push_back(ask(changed));
  }
  return all;
}

/// A series of one number of the answers over the values of the input.
Series series_of(std::string name, const std::vector<double>& values, const std::vector<json::Value>& all,
                 const std::string& path, const std::string& low = "", const std::string& high = "") {
  Series s{.name = std::move(name)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto y = number_at(all[i], path);
    if (!y) continue;
    Point p{.x = values[i], .y = *y};
    const auto least = low.empty() ? std::nullopt : number_at(all[i], low),
               most = high.empty() ? std::nullopt : number_at(all[i], high);
    if (least && most) p.ends = Ends{*least, *most};
    s.points.push_back(p);
  }
  return s;
}

/// Powers of two from `from`, then `most` itself.
std::vector<double> doublings(double from, double most) {
  std::vector<double> all;
  for (double x = from; x < most; x *= 2) all.push_back(x);
  all.push_back(most);
  return all;
}

void add(std::vector<Chart>& all, Chart chart) {
  const auto& series = std::get<Curves>(chart.content).series;
  if (std::any_of(series.begin(), series.end(), [](const Series& s) { return s.points.size() > 1; }))
    all.push_back(std::move(chart));
}

void add_batches(const json::Value& report, std::vector<Chart>& all) {
  const auto most = number_at(report, "limits.max_batch");
  if (!most || *most < 2) return;
  const std::vector<double> batches = doublings(1, *most);
  const auto answered = answers(request_of(report), "batch", batches);
  add(all, {"batch", "Batch size", "Time per token by batch size: " + subject_of_report(report),
            Curves{.x = {"sequences", Unit::none, Spacing::logarithmic},
                   .y = {"time per token", Unit::seconds},
                   .series = {series_of("time per token", batches, answered, "decode.time_per_token_s",
                                        "decode.time_per_token_low_s", "decode.time_per_token_high_s")}}});
}

void add_contexts(const json::Value& report, std::vector<Chart>& all) {
  const auto most = number_at(report, "limits.max_context"), generate = number_at(report, "inputs.generate");
  if (!most || !generate || *most < 4096) return;
  const std::vector<double> prompts = doublings(512, std::min(*most - *generate, 262144.0));
  const auto answered = answers(request_of(report), "prompt", prompts);
  add(all, {"context", "Context length", "Times by prompt length: " + subject_of_report(report),
            Curves{.x = {"prompt tokens", Unit::none, Spacing::logarithmic},
                   .y = {"time", Unit::seconds, Spacing::logarithmic},
                   .series = {series_of("time to first token", prompts, answered, "prefill.time_s",
                                        "prefill.time_low_s", "prefill.time_high_s"),
                              series_of("time per token", prompts, answered, "decode.time_per_token_s",
                                        "decode.time_per_token_low_s", "decode.time_per_token_high_s")}}});
}

void add_loads(const json::Value& report, std::vector<Chart>& all) {
  const auto most = number_at(report, "serving.capacity_req_s");
  if (!most || value_at(report, "inputs.rate") == nullptr) return;
  std::vector<double> rates;
  for (const double share : {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95}) rates.push_back(share * *most);
  const auto answered = answers(request_of(report), "rate", rates);
  add(all,
      {"load", "Latency by load", "Latencies by request rate, up to 95 % of the capacity: " + subject_of_report(report),
       Curves{.x = {"requests per second", Unit::none},
              .y = {"time", Unit::seconds, Spacing::logarithmic},
              .series = {series_of("first token, median", rates, answered, "serving.ttft_s.p50"),
                         series_of("first token, 99 %", rates, answered, "serving.ttft_s.p99"),
                         series_of("per token, median", rates, answered, "serving.tpot_s.p50"),
                         series_of("per token, 99 %", rates, answered, "serving.tpot_s.p99")}}});
}

}  // namespace

std::vector<Chart> curves_of(const json::Value& report) {
  std::vector<Chart> all;
  const std::string command = text_at(report, "command");
  if (command == "infer") add_batches(report, all), add_contexts(report, all);
  if (command == "serve") add_loads(report, all);
  return all;
}

}  // namespace llmcalc::plot
