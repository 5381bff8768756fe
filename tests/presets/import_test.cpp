#include "presets/import/import.hpp"

#include <algorithm>

#include "calc/parameters.hpp"
#include "presets/model_file.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

json::Value data(const std::string& file) {
  const std::string path = LLMCALC_SOURCE_DIR "/tests/presets/data/" + file;
  return json::parse(json::file_text(path), path);
}

}  // namespace

// tests/presets/data/configs.json: the published config.json of every preset that has one, with its parameters (tied
// heads once, no buffers), active parameters, cached elements per token, and parameters by component.
TEST_CASE("a published config imports with the published parameter count of each component", "[import]") {
  const json::Value rows = data("configs.json");
  REQUIRE(rows.size() == 80);
  for (const json::Value& row : rows) {
    CAPTURE(row["name"].get<std::string>());
    const ModelCard card = import_config(row["config"], "config.json");
    const Parameters p = parameters(card.arch);
    CHECK(p.total == row["parameters"].get<Count>());
    CHECK(cache_elements_per_token(card.arch) == row["cached_per_token"].get<Count>());
    CHECK(card.unknown_keys.empty());
    if (row.contains("active")) CHECK(p.active == row["active"].get<Count>());
    if (!row.contains("mlp")) continue;
    CHECK(p.embedding + p.position == row["embedding_and_positions"].get<Count>());
    CHECK(p.attention == row["attention"].get<Count>());
    CHECK(p.mlp == row["mlp"].get<Count>());
    CHECK(p.norm == row["norm"].get<Count>());
    CHECK(p.lm_head == row["lm_head"].get<Count>());
  }
}

// tests/presets/data/more_configs.json: other sizes and switches of every family. "working" is the count by hand from
// the modeling code: tables, then layers x (attention, MLP, norms), then the final norm.
TEST_CASE("a config imports with a parameter count computed by hand", "[import]") {
  const json::Value rows = data("more_configs.json");
  REQUIRE(rows.size() >= 80);
  for (const json::Value& row : rows) {
    CAPTURE(row["name"].get<std::string>(), row["working"].get<std::string>());
    const ModelCard card = import_config(row["config"], "config.json");
    CHECK(parameters(card.arch).total == row["parameters"].get<Count>());
    CHECK(card.unknown_keys.empty());
  }
}

TEST_CASE("an imported model round-trips through a model file", "[import]") {
  for (const char* file : {"configs.json", "more_configs.json"})
    for (const json::Value& row : data(file)) {
      CAPTURE(row["name"].get<std::string>());
      const ModelCard card = import_config(row["config"], "config.json");
      const json::Value written = model_file_json(card);
      const ModelCard back = read_model_file(json::parse(model_file_text(written), "back.json"), "back.json");
      CHECK(back.arch == card.arch);
      CHECK(back.name == card.name);
      CHECK(back.caveats == card.caveats);
      CHECK(back.weights == card.weights);
      CHECK(model_file_json(back) == written);
    }
}

TEST_CASE("common model types can be imported, and the list of types is sorted", "[import]") {
  const auto types = importable_types();
  CHECK(std::is_sorted(types.begin(), types.end()));
  CHECK(std::adjacent_find(types.begin(), types.end()) == types.end());
  for (const char* type :
       {"llama",   "gpt2",    "gptj",        "dbrx",        "codegen",     "persimmon", "exaone",           "olmoe",
        "phimoe",  "minimax", "granitemoe",  "nemotron",    "smollm3",     "ernie4_5",  "hunyuan_v1_dense", "seed_oss",
        "apertus", "arcee",   "gemma3_text", "llama4_text", "deepseek_v3", "qwen3_moe", "glm4_moe",         "grok-1"})
    CHECK(std::find(types.begin(), types.end(), type) != types.end());
}
