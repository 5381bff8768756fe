// Lists as CSV and JSON lines.

#include <sstream>

#include "report/render/records.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

}  // namespace

TEST_CASE("CSV cells with commas, quotes or line ends are quoted", "[records]") {
  CHECK(csv_cell("plain") == "plain");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_cell("two\nlines") == "\"two\nlines\"");
}

TEST_CASE("each line of JSON Lines output equals a row of the JSON output", "[records][cli]") {
  for (const auto& [command, key] :
       {std::pair{"list models", "models"}, std::pair{"fit llama-3.1-8b gpt2 --hardware rtx-4090", "runnable"},
        std::pair{"plan train gpt2 --hardware h100 --gpus 4", "plans"},
        std::pair{"compare --of 'infer gpt2 --hardware h100' --vs '--batch 2'", "differences"},
        std::pair{"accuracy inference", "rows"}}) {
    CAPTURE(command);
    const json::Value rows = test::ask(command)[key];
    const std::vector<std::string> records = lines(test::llmcalc(std::string(command) + " --jsonl").out);
    REQUIRE(records.size() == rows.size());
    for (std::size_t i = 0; i < records.size(); i += 17) CHECK(json::parse(records[i], "a line") == rows[i]);
  }
}

TEST_CASE("CSV output has a header and a line per row", "[records][cli]") {
  const std::string csv = test::llmcalc("list models --csv").out;
  const std::vector<std::string> all = lines(csv);
  CHECK(all[0] == "name,title,aliases,parameters,active_parameters,context_tokens,kv_cache_bytes_per_token\r");
  CHECK(all.size() == 1 + test::ask("list models")["models"].size());
  CHECK_THAT(csv, Catch::Contains("llama-3.1-8b,Llama-3.1-8B,") && Catch::Contains(",8030261248,"));
}

TEST_CASE("output styles cannot be combined, and answers without a list have no CSV", "[records][cli]") {
  CHECK(test::llmcalc("list models --csv --json").code == 2);
  CHECK(test::llmcalc("params gpt2 --csv").code == 2);
  CHECK(test::llmcalc("fit gpt2 --hardware h100 --csv --full").code == 2);
}
