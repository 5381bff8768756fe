#include "evidence/bench/bench_run.hpp"

#include <fmt/format.h>

#include "evidence/bench/llama_bench.hpp"
#include "evidence/bench/serving_bench.hpp"
#include "text/error.hpp"
#include "text/json.hpp"

namespace llmcalc {
namespace {

constexpr std::string_view bench_formats = "the output of vllm bench serve, sglang.bench_serving or llama-bench";

[[noreturn]] void refuse_format(const std::string& where) {
  throw InputError(fmt::format("{}: expected {}", where, bench_formats));
}

std::vector<std::string> lines_with_text(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.find_first_not_of(" \t\r") != std::string::npos) all.push_back(line);
    at = end + 1;
  }
  return all;
}

/// The objects of a JSON array, of JSON Lines, or of a single document.
std::vector<json::Value> json_objects(const std::string& text, const std::string& where) {
  const std::vector<std::string> lines = lines_with_text(text);
  const bool is_lines = lines.size() > 1 && std::all_of(lines.begin(), lines.end(), [](const std::string& l) {
                          return l.starts_with('{') && l.find('}') != std::string::npos;
                        });
  std::vector<json::Value> all;
  if (is_lines) {
    for (const std::string& l : lines) all.push_back(json::parse(json::without_infinities(l), where));
    return all;
  }
  const json::Value whole = json::parse(json::without_infinities(text), where);
  if (!whole.is_array()) return {whole};
  for (const json::Value& v : whole) all.push_back(v);
  return all;
}

BenchRun json_run(const std::string& text, const std::string& where) {
  const std::vector<json::Value> all = json_objects(text, where);
  if (all.empty() || !all.front().is_object()) refuse_format(where);
  if (all.front().contains("avg_ts")) return llama_bench_json(all, where);
  if (!all.front().contains("total_output_tokens")) refuse_format(where);
  return serving_bench_json(all, where);
}

}  // namespace

BenchRun bench_run(const std::string& text, const std::string& where) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) refuse_format(where);
  if (text[first] == '{' || text[first] == '[') return json_run(text, where);
  const std::vector<std::string> lines = lines_with_text(text);
  if (is_serving_bench(lines)) return serving_bench_text(lines, where);
  if (is_llama_bench(lines)) return llama_bench_table(lines, where);
  if (text.find("# TYPE ") != std::string::npos)
    throw InputError(
        fmt::format("{}: one reading of a server's metrics; pass two, --bench BEFORE --bench AFTER, and "
                    "the --seconds between them",
                    where));
  refuse_format(where);
}

BenchRun read_bench(const std::string& path) { return bench_run(json::file_text(path, bench_formats), path); }

}  // namespace llmcalc
