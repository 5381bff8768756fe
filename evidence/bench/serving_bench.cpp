#include "evidence/bench/serving_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/error.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view result_title = "Serving Benchmark Result";

/// A label of the text, and the key of the same value in JSON.
struct BenchLabel {
  std::string_view label, key;
};
constexpr std::array bench_labels{BenchLabel{"Backend", "backend"},
                                  BenchLabel{"Traffic request rate", "request_rate"},
                                  BenchLabel{"Request rate configured (RPS)", "request_rate"},
                                  BenchLabel{"Maximum request concurrency", "max_concurrency"},
                                  BenchLabel{"Max request concurrency", "max_concurrency"},
                                  BenchLabel{"Successful requests", "completed"},
                                  BenchLabel{"Benchmark duration (s)", "duration"},
                                  BenchLabel{"Total input tokens", "total_input_tokens"},
                                  BenchLabel{"Total generated tokens", "total_output_tokens"},
                                  BenchLabel{"Output token throughput (tok/s)", "output_throughput"},
                                  BenchLabel{"Mean TTFT (ms)", "mean_ttft_ms"},
                                  BenchLabel{"Median TTFT (ms)", "median_ttft_ms"},
                                  BenchLabel{"Mean TPOT (ms)", "mean_tpot_ms"},
                                  BenchLabel{"Median TPOT (ms)", "median_tpot_ms"},
                                  BenchLabel{"Mean ITL (ms)", "mean_itl_ms"}};

/// A key of the output, and the figure that it states.
struct BenchKey {
  const char *key, *figure;
};
constexpr std::array bench_keys{BenchKey{"mean_ttft_ms", "ttft_ms"}, BenchKey{"median_ttft_ms", "ttft_p50_ms"},
                                BenchKey{"mean_tpot_ms", "tpot_ms"}, BenchKey{"median_tpot_ms", "tpot_p50_ms"},
                                BenchKey{"output_throughput", "output_tok_s"}};

std::string without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// A finite number, if the text is one; otherwise the text.
json::Value number_or_text(const std::string& text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(x)) return x;
  return text;
}

/// The number of a key; absent if the output states none ("inf", "not set", null).
std::optional<double> stated_number(const json::Object& o, const char* key) {
  const json::Value* v = o.find(key);
  if (v == nullptr || !v->is_number()) return std::nullopt;
  return v->get<double>();
}

double needed_number(const json::Object& o, const char* key, double least) {
  const std::optional<double> x = stated_number(o, key);
  if (x && *x >= least) return *x;
  throw InputError(fmt::format("{}: expected a number of at least {} for \"{}\"", o.where(), least, key));
}

/// Software profile of the server behind an API. The APIs of OpenAI are vLLM's.
std::string engine_behind(const std::string& backend) {
  if (backend.starts_with("sgl")) return "sglang";
  if (backend.starts_with("trt") || backend.starts_with("tensorrt")) return "tensorrt-llm";
  return backend.empty() || backend.starts_with("vllm") || backend.starts_with("openai") ? "vllm" : "";
}

/// "2026-11-30" of "20261130-141502".
std::string day_of(const std::string& stamp) {
  if (stamp.size() < 8 || stamp.find_first_not_of("0123456789") < 8) return "";
  return fmt::format("{}-{}-{}", stamp.substr(0, 4), stamp.substr(4, 2), stamp.substr(6, 2));
}

/// Throws InputError if requests arrived at a rate, which a closed loop of clients does not describe.
void refuse_rate(const json::Object& o) {
  if (const auto rate = stated_number(o, "request_rate"))
    throw InputError(
        fmt::format("{}: requests arrived at {:g} per second; pass a run without --request-rate, whose clients send "
                    "their next request after an answer",
                    o.where(), *rate));
}

MeasuredValues measured_values(const json::Object& o) {
  MeasuredValues all;
  for (const BenchKey& k : bench_keys)
    if (const auto x = stated_number(o, k.key); x && *x > 0) all.emplace_back(k.figure, *x);
  const bool has_tokens = stated_number(o, "mean_tpot_ms").value_or(0) > 0;
  if (const auto gap = stated_number(o, "mean_itl_ms"); !has_tokens && gap && *gap > 0)
    all.emplace_back("itl_ms", *gap);
  if (all.empty()) throw InputError(o.where() + ": no TTFT, TPOT or output throughput above 0");
  return all;
}

BenchTest served_test(const json::Object& o) {
  refuse_rate(o);
  const double requests = needed_number(o, "completed", 1);
  BenchTest t{.served = true, .clients = stated_number(o, "max_concurrency"), .requests = requests};
  if (t.clients) t.clients = std::clamp(*t.clients, 1.0, requests);
  t.prompt = needed_number(o, "total_input_tokens", 1) / requests;
  t.generate = needed_number(o, "total_output_tokens", 1) / requests;
  t.measured = measured_values(o);
  return t;
}

}  // namespace

bool is_serving_bench(const std::vector<std::string>& lines) {
  return std::any_of(lines.begin(), lines.end(),
                     [](const std::string& l) { return l.find(result_title) != std::string::npos; });
}

BenchRun serving_bench_json(const std::vector<json::Value>& all, const std::string& where) {
  if (all.size() > 1) throw InputError(fmt::format("{}: {} results; pass a file with one of them", where, all.size()));
  const json::Object o(all.front(), where);
  const std::string model = o.text_or("model_id", "");
  return {.engine = engine_behind(o.text_or("backend", o.text_or("endpoint_type", ""))),
          .model = model,
          .date = day_of(o.text_or("date", "")),
          .tests = {served_test(o)}};
}

BenchRun serving_bench_text(const std::vector<std::string>& lines, const std::string& where) {
  const auto results = std::count_if(lines.begin(), lines.end(),
                                     [](const std::string& l) { return l.find(result_title) != std::string::npos; });
  if (results > 1) throw InputError(fmt::format("{}: {} results; pass a file with one of them", where, results));
  json::Value values = json::Value::object();
  for (const std::string& line : lines) {
    const std::size_t colon = line.find(':');
    const std::string label = without_blanks(std::string_view(line).substr(0, colon));
    const auto* found =
        std::find_if(bench_labels.begin(), bench_labels.end(), [&](const BenchLabel& l) { return l.label == label; });
    if (colon == std::string::npos || found == bench_labels.end()) continue;
    values[std::string(found->key)] = number_or_text(without_blanks(std::string_view(line).substr(colon + 1)));
  }
  return serving_bench_json({values}, where);
}

}  // namespace llmcalc
