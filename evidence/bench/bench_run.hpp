#pragma once
/// Results of a benchmark of a served model, as its tool prints or saves them: `vllm bench serve` (text, or the JSON of
/// --save-result), `python -m sglang.bench_serving` (text, or a line of its JSON Lines), `llama-bench` (Markdown table,
/// JSON or JSON Lines).

#include <optional>
#include <string>
#include <vector>

#include "evidence/rows/figures.hpp"

namespace llmcalc {

/// One test. Lengths are mean tokens per request.
struct BenchTest {
  bool served = false;              ///< whether clients sent requests to a server; otherwise one sequence ran alone
  bool steady = false;              ///< whether it is an interval of a server at work; otherwise clients start together
  std::optional<double> clients{};  ///< mean requests in flight; absent: all requests at once
  double requests = 1;
  double prompt = 0, generate = 0;
  double cached = 0;          ///< tokens before the prompt, which the cache holds
  MeasuredValues measured{};  ///< figures by key (evidence/rows/figure.hpp)
};

/// Contents of a benchmark's output; an empty member is not stated.
struct BenchRun {
  std::string engine{};               ///< software profile: "vllm"
  std::string version{};              ///< build of the engine: "b6123"
  std::string model{};                ///< the model's name as written
  std::string weights{};              ///< weight format in the syntax of --weight-precision
  std::string device{};               ///< the device's name as written
  std::string date{};                 ///< date of the run: "2026-11-30"
  std::optional<Count> gpu_layers{};  ///< layers in device memory, if limited
  std::optional<Count> tp{}, pp{};    ///< tensor-parallel ranks and pipeline stages
  std::vector<BenchTest> tests{};
};

/// Recognizes the format of the file and reads it. Throws InputError if it has none of the formats, or no figure that
/// can be predicted.
BenchRun read_bench(const std::string& path);
/// The same for a text; `where` names it in errors.
BenchRun bench_run(const std::string& text, const std::string& where);

}  // namespace llmcalc
