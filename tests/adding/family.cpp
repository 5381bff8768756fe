// A Hugging Face family, as described in docs/adding.md.

#include "calc/parameters.hpp"
#include "presets/import/families.hpp"
#include "tests/catch.hpp"

namespace llmcalc::import {
namespace {

/// hf example/modeling_example.py: Llama with biases on q, k, v unless the config disables them; tied by default.
Arch example(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = c.flag("qkv_bias", true);
  return a;
}

}  // namespace

std::vector<Family> example_families() {
  return {{"example",
           example,
           {.layers = 24, .hidden = 2048, .heads = 16, .vocabulary = 32000, .context = 4096, .tied = true}}};
}

TEST_CASE("the example family has Llama-3.2-1B's parameters, plus q, k, v biases unless disabled", "[adding]") {
  json::Value config{{"num_hidden_layers", 16},   {"hidden_size", 2048},
                     {"num_attention_heads", 32}, {"head_dim", 64},
                     {"num_key_value_heads", 8},  {"intermediate_size", 8192},
                     {"vocab_size", 128256},      {"max_position_embeddings", 131072}};
  const Family family = example_families()[0];
  const auto counted = [&] { return parameters(family.arch(Config(config, "config.json"), family.defaults)).total; };
  const Count biases = 16 * (32 + 8 + 8) * 64;
  CHECK(counted() == 1235814400 + biases);  // huggingface.co/meta-llama/Llama-3.2-1B, safetensors index
  config["qkv_bias"] = false;
  CHECK(counted() == 1235814400);
}

}  // namespace llmcalc::import
