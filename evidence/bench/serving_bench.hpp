#pragma once
/// Results of `vllm bench serve` and `python -m sglang.bench_serving`, which share keys and labels.

#include <string>
#include <vector>

#include "evidence/bench/bench_run.hpp"
#include "text/json.hpp"

namespace llmcalc {

bool is_serving_bench(const std::vector<std::string>& lines);
BenchRun serving_bench_text(const std::vector<std::string>& lines, const std::string& where);
/// `all`: the documents of the file. Throws InputError if there is more than one.
BenchRun serving_bench_json(const std::vector<json::Value>& all, const std::string& where);

}  // namespace llmcalc
