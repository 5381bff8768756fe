#include "evidence/bench/llama_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

#include "presets/formats/gguf_mix.hpp"
#include "text/error.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

using Cells = std::vector<std::string>;

/// The cells of a line "| a | b |", without surrounding blanks.
Cells table_cells(const std::string& line) {
  Cells all;
  std::size_t at = line.find('|');
  for (std::size_t next; (next = line.find('|', at + 1)) != std::string::npos; at = next) {
    const std::string cell = line.substr(at + 1, next - at - 1);
    const std::size_t first = cell.find_first_not_of(' ');
    all.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return all;
}

bool is_heading(const std::string& line) {
  const Cells cells = table_cells(line);
  const auto has = [&](const char* name) { return std::find(cells.begin(), cells.end(), name) != cells.end(); };
  return has("model") && has("test") && has("t/s");
}

/// Weight format at the end of a model's type: "gguf:q4_k_m" of "llama 8B Q4_K - Medium".
std::string weights_of_type(const std::string& type) {
  std::string text = lower(type);
  for (const auto& [size, suffix] : {std::pair{" - small", "_s"}, {" - medium", "_m"}, {" - large", "_l"}})
    if (text.ends_with(size)) text.replace(text.size() - std::string_view(size).size(), std::string::npos, suffix);
  const std::string last = text.substr(text.rfind(' ') + 1);
  if (is_gguf_mix(last)) return "gguf:" + last;
  return last == "f32" ? "fp32" : "";
}

/// A test of one sequence. Empty if it mixes a prompt with generation, whose rates are not separate.
std::optional<BenchTest> llama_test(double prompt, double generate, double depth, double rate) {
  if ((prompt > 0) == (generate > 0) || rate <= 0) return std::nullopt;
  const char* figure = prompt > 0 ? "prefill_tok_s" : "decode_tok_s";
  return BenchTest{.prompt = prompt, .generate = generate, .cached = depth, .measured = {{figure, rate}}};
}

void add_test(BenchRun& run, const std::optional<BenchTest>& test) {
  if (test) run.tests.push_back(*test);
}

/// "pp512", "tg 128 @ d4096".
std::optional<BenchTest> named_test(const std::string& name, double rate) {
  static const std::regex pattern("^(pp|tg) ?([0-9]+)( @ d([0-9]+))?$");
  std::smatch found;
  if (!std::regex_match(name, found, pattern)) return std::nullopt;
  const double n = leading_real(found[2]), depth = leading_real(found[4]);
  return found[1] == "pp" ? llama_test(n, 0, depth, rate) : llama_test(0, n, depth, rate);
}

/// Throws InputError if the run has no usable test, or tests of several models.
BenchRun complete_run(BenchRun run, const std::map<std::string, int>& models, const std::string& where) {
  if (models.size() > 1)
    throw InputError(fmt::format("{}: tests of {} models; pass the tests of one", where, models.size()));
  if (run.tests.empty()) throw InputError(where + ": no pp or tg test with a rate above 0");
  return run;
}

BenchRun run_of_model(const std::string& type) {
  return {.engine = "llama.cpp", .model = type, .weights = weights_of_type(type)};
}

}  // namespace

bool is_llama_bench(const std::vector<std::string>& lines) {
  return std::any_of(lines.begin(), lines.end(), is_heading);
}

BenchRun llama_bench_table(const std::vector<std::string>& lines, const std::string& where) {
  auto line = std::find_if(lines.begin(), lines.end(), is_heading);
  const Cells heading = table_cells(*line);
  std::map<std::string, int> models;
  BenchRun run;
  for (++line; line != lines.end() && line->starts_with('|'); ++line) {
    const Cells cells = table_cells(*line);
    if (cells.size() != heading.size() || cells.front().starts_with("-")) continue;
    const auto cell = [&](const char* name) {
      const auto i = static_cast<std::size_t>(std::find(heading.begin(), heading.end(), name) - heading.begin());
      return i < cells.size() ? cells[i] : std::string();
    };
    if (models[cell("model")]++ == 0 && run.model.empty()) run = run_of_model(cell("model"));
    if (!cell("ngl").empty()) run.gpu_layers = leading_whole(cell("ngl"));
    add_test(run, named_test(cell("test"), leading_real(cell("t/s"))));
  }
  return complete_run(run, models, where);
}

BenchRun llama_bench_json(const std::vector<json::Value>& all, const std::string& where) {
  std::map<std::string, int> models;
  BenchRun run;
  for (const json::Value& v : all) {
    const json::Object o(v, where);
    const std::string type = o.text_or("model_type", "");
    if (models[type]++ == 0 && run.model.empty()) run = run_of_model(type);
    run.device = o.text_or("gpu_info", "");
    run.date = o.text_or("test_time", "").substr(0, 10);
    if (o.has("build_number")) run.version = fmt::format("b{}", o.count("build_number"));
    if (o.has("n_gpu_layers")) run.gpu_layers = static_cast<Count>(o.number_or("n_gpu_layers", -1));
    add_test(run, llama_test(o.number_or("n_prompt", 0), o.number_or("n_gen", 0), o.number_or("n_depth", 0),
                             o.number_or("avg_ts", 0)));
  }
  return complete_run(run, models, where);
}

}  // namespace llmcalc
