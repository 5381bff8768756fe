// Names as people type them: hub ids, URLs, Ollama tags, GGUF files, and the table of names.

#include <algorithm>
#include <sstream>

#include "presets/load.hpp"
#include "presets/names/meant_model.hpp"
#include "presets/names/name_table.hpp"
#include "presets/names/typed_name.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"
#include "text/names.hpp"

using namespace llmcalc;

namespace {

std::string meant(std::string_view name) {
  const MeantModel m = meant_model(name);
  return m.preset == nullptr ? "none" : std::string(m.preset->name) + " " + m.format;
}

/// Names of the table, in its order.
std::vector<std::string> table_names() {
  std::vector<std::string> names;
  std::istringstream lines{std::string(name_table())};
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('#')) names.push_back(line.substr(0, line.find('\t')));
  return names;
}

}  // namespace

TEST_CASE("a model name splits into owner, name and tag", "[names]") {
  CHECK(typed_name("Qwen/Qwen3-8B").whole() == "Qwen/Qwen3-8B");
  CHECK(typed_name("https://huggingface.co/Qwen/Qwen3-8B/tree/main?x=1").whole() == "Qwen/Qwen3-8B");
  CHECK(typed_name("hf.co/bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M").tag == "Q4_K_M");
  CHECK(typed_name("https://ollama.com/library/deepseek-r1:70b").whole() == "deepseek-r1:70b");
  CHECK(typed_name("llama3.1:latest").whole() == "llama3.1");
  CHECK(typed_name("a/b/Qwen3-8B-Q4_K_M-00001-of-00002.gguf").name == "Qwen3-8B-Q4_K_M");
  CHECK(typed_name("Meta-Llama-3-8B-Instruct.Q4_0.gguf").name == "Meta-Llama-3-8B-Instruct-Q4_0");
}

TEST_CASE("hub names, tags and file names resolve to a preset and a storage format", "[names]") {
  CHECK(meant("https://huggingface.co/Qwen/Qwen2.5-7B-Instruct-AWQ") == "qwen2.5-7b awq");
  CHECK(meant("hf.co/bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M") == "llama-3.3-70b gguf:q4_k_m");
  CHECK(meant("llama3.1:8b-instruct-q4_K_M") == "llama-3.1-8b gguf:q4_k_m");
  CHECK(meant("llama3.1:8b") == "llama-3.1-8b gguf:q4_k_m");
  CHECK(meant("qwen3-30b-a3b-instruct-2507") == "qwen3-30b-a3b ");
  CHECK(meant("deepseek-ai/DeepSeek-V3-0324") == "deepseek-v3 ");
  CHECK(meant("deepseek-r1:70b") == "llama-3.3-70b gguf:q4_k_m");
  CHECK(meant("deepseek-r1:7b") == "qwen2.5-7b gguf:q4_k_m");
  CHECK(meant("deepseek-r1-distill-qwen-7b") == "qwen2.5-7b ");
  CHECK(meant("Meta-Llama-3.1-8B-Instruct-Q5_K_M.gguf") == "llama-3.1-8b gguf:q5_k_m");
  CHECK(meant("mlx-community/Qwen3-8B-4bit") == "qwen3-8b mlx-4bit");
  CHECK(meant("unsloth/Qwen3-14B-GGUF") == "qwen3-14b gguf:q4_k_m");
}

TEST_CASE("a model name without a preset of its size is rejected, never resolved to another size", "[names]") {
  CHECK_THAT(test::sentence([] { meant_model("gpt-4o"); }), Catch::Contains("closed model, shape not published"));
  CHECK_THAT(test::sentence([] { meant_model("codellama-34b"); }), Catch::Contains("pass its config.json"));
  CHECK(meant("mistral-small-2409") == "none");
  CHECK(test::sentence([] { meant_model("Llama 3"); }) ==
        "\"Llama 3\" has several sizes; specify one of llama-3-8b, llama-3.1-70b");
  CHECK(meant("llama3") == "llama-3-8b gguf:q4_0");  // Ollama's default
  CHECK(meant("deepseek-r1:9b") == "none");
}

TEST_CASE("loading a model by the name of a variant adds a caveat that describes the variant and cites a source",
          "[names]") {
  const ModelCard card = load_model("deepseek-r1:70b");
  CHECK_THAT(card.caveats.front(), Catch::Contains("distill of") && Catch::Contains("https://github.com/"));
  CHECK(card.word == "deepseek-r1:70b");
}

TEST_CASE("the table of names is sorted, and its presets and formats exist", "[names]") {
  const std::vector<std::string> names = table_names();
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  std::size_t sourced = 0;
  for (const std::string& name : names) {
    INFO(name);
    CHECK(spelling(name) == name);
    const std::optional<NamedModel> row = named_model(name);
    REQUIRE(row.has_value());
    CHECK((row->preset.empty() || find_builtin(builtin_models(), row->preset) != nullptr));
    sourced += row->source.starts_with("https://") && !row->preset.empty() ? 1 : 0;
  }
  CHECK(sourced > 2900);
}

TEST_CASE("every name in the table loads or is rejected with a reason", "[names]") {
  for (const std::string& name : table_names()) {
    INFO(name);
    try {
      const Count layers = load_model(name).arch.layers;
      CHECK(layers > 0);
    } catch (const InputError& e) {
      const std::string_view preset = named_model(name)->preset;
      CHECK((preset.empty() || preset == "kimi-k2"));  // K2 Thinking has other formats
    }
  }
}

// Skips Ollama names that lack the version that a hub's name states: Ollama's mistral is v0.3, and its deepseek-r1 is a
// distilled model.
TEST_CASE("the terms of a model name resolve to the preset in the table of names or to no preset", "[names]") {
  for (const std::string& name : table_names()) {
    if (name.starts_with("mistral:7b") || name.starts_with("command-r") || find_builtin(builtin_models(), name))
      continue;
    if (name.ends_with(":latest")) continue;
    INFO(name);
    const std::optional<NamedModel> row = named_model(name);
    try {
      const MeantModel m = model_of_words(name);
      CHECK((m.preset == nullptr || m.preset->name == row->preset));
    } catch (const InputError&) {
    }
  }
}
