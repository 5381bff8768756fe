#include "presets/builtin.hpp"

#include <algorithm>
#include <set>

#include "tests/catch.hpp"
#include "text/json.hpp"
#include "text/names.hpp"

using namespace llmcalc;

TEST_CASE("built-in presets equal their files byte for byte and are sorted by name", "[builtin]") {
  for (const auto presets : {builtin_models(), builtin_hardware()}) {
    CHECK(std::is_sorted(presets.begin(), presets.end(), [](auto& a, auto& b) { return a.name < b.name; }));
    const std::string folder = presets.data() == builtin_models().data() ? "models" : "hardware";
    for (const Builtin& p : presets) {
      INFO(p.name);
      CHECK(json::file_text(LLMCALC_SOURCE_DIR "/presets/" + folder + "/" + std::string(p.name) + ".json") == p.text);
    }
  }
}

TEST_CASE("built-in names and aliases equal those in the preset files", "[builtin]") {
  for (const auto presets : {builtin_models(), builtin_hardware()}) {
    for (const Builtin& p : presets) {
      INFO(p.name);
      const auto value = json::parse(p.text, std::string(p.name));
      const json::Object o(value, std::string(p.name));
      CHECK(o.text("name") == p.name);
      const auto aliases = o.has("aliases") ? o.texts("aliases") : std::vector<std::string>();
      CHECK(std::equal(aliases.begin(), aliases.end(), p.aliases.begin(), p.aliases.end()));
    }
  }
}

TEST_CASE("no name matches two presets, in any spelling", "[builtin]") {
  for (const auto presets : {builtin_models(), builtin_hardware()})
    for (const Builtin& preset : presets) {
      INFO(preset.name);
      CHECK(find_builtin(presets, preset.name) == &preset);
      for (const auto alias : preset.aliases) CHECK(find_builtin(presets, alias) == &preset);
    }
}

TEST_CASE("presets are found by name and alias, in upper and lower case", "[builtin]") {
  const auto hardware = builtin_hardware();
  REQUIRE(find_builtin(hardware, "A100") != nullptr);
  CHECK(find_builtin(hardware, "A100")->name == "a100-sxm-80gb");
  CHECK(find_builtin(hardware, "a100-sxm-80gb") == find_builtin(hardware, "A100"));
  CHECK(find_builtin(hardware, "a100-sxm") == nullptr);
  CHECK(find_builtin(hardware, "") == nullptr);
}

TEST_CASE("presets are found by common spellings of their names", "[builtin]") {
  const auto model = [](std::string_view name) {
    const Builtin* found = find_meant(builtin_models(), name);
    return found == nullptr ? std::string("none") : std::string(found->name);
  };
  CHECK(model("meta-llama/Llama-3.1-8B") == "llama-3.1-8b");
  CHECK(model("meta-llama/Meta-Llama-3.1-8B-Instruct") == "llama-3.1-8b");
  CHECK(model("meta-llama/Llama-2-7b-chat-hf") == "llama-2-7b");
  CHECK(model("google/gemma-3-12b-it") == "gemma-3-12b");
  CHECK(model("mistralai/Mistral-7B-Instruct-v0.3") == "mistral-7b-v0.3");
  CHECK(model("mistralai/Mixtral-8x22B-Instruct-v0.1") == "mixtral-8x22b");
  CHECK(model("Qwen/Qwen3-235B-A22B") == "qwen3-235b-a22b");
  CHECK(model("moonshotai/Kimi-K2-Instruct") == "kimi-k2");
  CHECK(model("openai-community/gpt2-medium") == "gpt-2-355m");
  CHECK(model("llama 3.3 70b") == "llama-3.3-70b");
  CHECK(model("llama-27b") == "none");
  CHECK(model("instruct") == "none");
  CHECK(model("a/b/gpt2") == "none");
  CHECK(model("./gpt2") == "none");
  CHECK(model("/gpt2") == "none");
  const auto device = [](std::string_view name) {
    const Builtin* found = find_meant(builtin_hardware(), name);
    return found == nullptr ? std::string("none") : std::string(found->name);
  };
  CHECK(device("NVIDIA H100 80GB HBM3") == "h100-sxm-80gb");  // as the driver reports them
  CHECK(device("NVIDIA A100-SXM4-80GB") == "a100-sxm-80gb");
  CHECK(device("NVIDIA GeForce RTX 4070 Ti SUPER") == "rtx-4070-ti-super");
  CHECK(device("NVIDIA RTX 6000 Ada Generation") == "rtx-6000-ada");
  CHECK(device("H100 SXM5") == "h100-sxm-80gb");
  CHECK(device("V100-SXM2-32GB") == "v100-sxm2-32gb");
  CHECK(device("NVIDIA GB10") == "dgx-spark");
  CHECK(device("AMD Instinct MI300X") == "mi300x");
  CHECK(device("Apple M4 Pro") == "m4-pro");
  CHECK(device("rtx4090") == "rtx-4090");
  CHECK(device("a6000") == "rtx-a6000");
  CHECK(device("h100-80gb") == "h100-sxm-80gb");
  CHECK(device("nvidia") == "none");
}
