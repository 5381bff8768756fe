// Effects of each key in a config.json.

#include "presets/import/reading.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/presets/released.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

json::Value small_llama() {
  return {{"model_type", "llama"},    {"hidden_size", 256},          {"num_hidden_layers", 2},
          {"num_attention_heads", 4}, {"num_key_value_heads", 2},    {"intermediate_size", 512},
          {"vocab_size", 512},        {"rope_theta", 10000.0},       {"max_position_embeddings", 4096},
          {"torch_dtype", "float16"}, {"tie_word_embeddings", true}, {"extra_lora_rank", 8},
          {"attention_dropout", 0.0}, {"use_cache", true},           {"something_new", 7},
          {"num_query_groups", 4},    {"extra_window", 128},         {"ep_size", 4}};
}

KeyReading reading_of(const json::Value& config, const std::string& key) {
  for (KeyReading& r : key_readings(config, "c.json"))
    if (r.key == key) return r;
  return {};
}

}  // namespace

TEST_CASE("the effect of a config key is the set of model file entries that change with it", "[import][reading]") {
  const auto becomes = [](const char* key) { return reading_of(small_llama(), key).becomes; };
  using Parts = std::vector<std::string>;
  CHECK(becomes("num_key_value_heads") == Parts{"attention.kv_heads 2"});
  CHECK(becomes("num_attention_heads") == Parts{"attention.head_width 64", "attention.heads 4"});
  CHECK(becomes("torch_dtype") == Parts{"weights.all \"fp16\""});
  CHECK(becomes("tie_word_embeddings") == Parts{"head.tied true"});
  CHECK(becomes("model_type") == Parts{"model family"});
}

TEST_CASE("an ignored config key is reported with a reason", "[import][reading]") {
  const auto why = [](const char* key) { return reading_of(small_llama(), key).why; };
  CHECK(why("hidden_size").empty());
  CHECK(why("rope_theta") == "rotary embeddings have no parameters");
  CHECK(why("attention_dropout") == "training only; occupies no memory");
  CHECK(why("use_cache") == "runtime setting");
  CHECK(why("ep_size") == "software setting");
  for (const char* key : {"something_new", "num_query_groups", "extra_window", "extra_lora_rank"})
    CHECK(why(key) == "not understood, not counted");
}

TEST_CASE("a config key that is only validated is reported as checked", "[import][reading]") {
  json::Value config = small_llama();
  config["model_type"] = "cohere2";
  config["sliding_window_pattern"] = 4;
  config["sliding_window"] = 64;
  CHECK(reading_of(config, "sliding_window_pattern").becomes ==
        std::vector<std::string>{"sliding_window.layers \"all\""});
  config["layer_types"] = {"sliding_attention", "full_attention"};
  CHECK(reading_of(config, "sliding_window_pattern").why ==
        "checked: some values are rejected, and no size depends on the others");
}

TEST_CASE("a config list of equal numbers is not ignored if any of them has an effect", "[import][reading]") {
  const json::Value ernie = {{"model_type", "ernie4_5_moe_vl"},
                             {"hidden_size", 256},
                             {"num_hidden_layers", 4},
                             {"num_attention_heads", 4},
                             {"vocab_size", 512},
                             {"moe_num_experts", {8, 8}},
                             {"moe_intermediate_size", {64, 32}},
                             {"moe_layer_start_index", {1, 1}}};
  CHECK(reading_of(ernie, "moe_num_experts").becomes == std::vector<std::string>{"moe.experts 8"});
  CHECK(reading_of(ernie, "moe_layer_start_index").why.empty());
}

TEST_CASE("every key of a 2026 config is read or ignored with a reason, and size keys are read",
          "[import][reading][every]") {
  const std::string path = LLMCALC_SOURCE_DIR "/tests/presets/data/configs_2026.json";
  for (const json::Value& row : json::parse(json::file_text(path), path)) {
    const json::Value& config = row["config"];
    const std::string text = config.contains("text_config") ? "text_config." : "";
    const std::vector<KeyReading> all = key_readings(config, "c.json");
    CHECK(all.size() >= config.size());
    for (const KeyReading& r : all) {
      CAPTURE(row["name"].get<std::string>(), r.key);
      CHECK(r.becomes.empty() != r.why.empty());
      for (const char* size : {"hidden_size", "vocab_size", "num_hidden_layers"})
        if (r.key == text + size) CHECK(r.why.empty());
    }
  }
}

TEST_CASE("a pattern string with one letter per layer is read together with the number of layers",
          "[import][reading]") {
  const json::Value nemotron = {{"model_type", "nemotron_h"},
                                {"hidden_size", 64},
                                {"num_hidden_layers", 6},
                                {"num_attention_heads", 4},
                                {"head_dim", 16},
                                {"num_key_value_heads", 2},
                                {"intermediate_size", 128},
                                {"vocab_size", 256},
                                {"hybrid_override_pattern", "M-M*M-"},
                                {"mamba_num_heads", 8},
                                {"mamba_head_dim", 16},
                                {"n_groups", 1},
                                {"ssm_state_size", 16},
                                {"max_position_embeddings", 128}};
  const KeyReading layers = reading_of(nemotron, "num_hidden_layers");
  CHECK(std::find(layers.becomes.begin(), layers.becomes.end(), "layers 6") != layers.becomes.end());
  const KeyReading pattern = reading_of(nemotron, "hybrid_override_pattern");
  REQUIRE_FALSE(pattern.becomes.empty());
  CHECK(pattern.becomes.front().find("checked") == std::string::npos);
}

TEST_CASE("listing the key effects of an unsupported config is rejected", "[import][reading]") {
  CHECK_THAT(test::sentence([] {
               key_readings({{"model_type", "qwen9"}}, "c.json");
             }),
             Catch::Contains("\"qwen9\" is not supported; the closest are "));
}

TEST_CASE("a number that happens to equal the length of a string in the config is still read", "[import][reading]") {
  const json::Value ouro = {
      {"model_type", "ouro"},     {"hidden_size", 256},       {"num_hidden_layers", 2},
      {"num_attention_heads", 4}, {"num_key_value_heads", 4}, {"vocab_size", 512},
      {"intermediate_size", 512}, {"total_ut_steps", 4},      {"hidden_act", "silu"}};  // 4 letters
  CHECK(reading_of(ouro, "total_ut_steps").becomes == std::vector<std::string>{"layers 8"});
}

TEST_CASE("a width repeated in an encoder's config is read together with its copy", "[import][reading]") {
  json::Value c = test::released_config("Qwen3.5-27B");
  const auto becomes = [&] { return reading_of(c, "text_config.hidden_size").becomes; };
  const auto hidden = [&] {
    const std::vector<std::string> all = becomes();
    return std::find(all.begin(), all.end(), "hidden " + c["text_config"]["hidden_size"].dump()) != all.end();
  };
  CHECK(hidden());
  c["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  CHECK(hidden());
}

// mlx writes the format of each module after the common one.
TEST_CASE("config keys that repeat for many modules are listed once", "[import][reading]") {
  json::Value config = small_llama();
  config["num_hidden_layers"] = 100;
  config["quantization"] = {{"group_size", 64}, {"bits", 4}};
  for (int i = 0; i < 100; ++i)
    config["quantization"]["model.layers." + std::to_string(i) + ".mlp.down_proj"] = {{"group_size", 64}, {"bits", 8}};
  const std::vector<KeyReading> all = key_readings(config, "c.json");
  CHECK(all.size() == config.size() + 2);  // the quantization block has three rows
  const KeyReading modules = reading_of(config, "quantization.model.layers.0.mlp.down_proj and 99 more");
  CHECK_FALSE(modules.becomes.empty());
  CHECK(modules.why.empty());
}
