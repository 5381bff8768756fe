#pragma once
/// Results of `llama-bench`: one sequence that processes a prompt (pp) or generates tokens (tg).

#include <string>
#include <vector>

#include "evidence/bench/bench_run.hpp"
#include "text/json.hpp"

namespace llmcalc {

bool is_llama_bench(const std::vector<std::string>& lines);
/// The Markdown table.
BenchRun llama_bench_table(const std::vector<std::string>& lines, const std::string& where);
/// `all`: one object per test.
BenchRun llama_bench_json(const std::vector<json::Value>& all, const std::string& where);

}  // namespace llmcalc
