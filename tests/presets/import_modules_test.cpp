// MTP modules in published checkpoints without a config key, and defaults of config classes.

#include "calc/parameters.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "tests/presets/released.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// The caveat about MTP modules that are not counted.
std::string told(const ModelCard& card) {
  for (const std::string& note : card.caveats)
    if (note.find("MTP module") != std::string::npos) return note;
  return "";
}

}  // namespace

// hub baidu/ERNIE-4.5-21B-A3B-PT: attention and a dense MLP.
TEST_CASE("ERNIE's MTP module is counted if a key states it, and otherwise mentioned", "[import][mtp]") {
  constexpr Count d = 2560, attention = 2 * d * 20 * 128 + 2 * d * 4 * 128;
  constexpr Count module = attention + 3 * d * 12288 + 2 * d * d + 4 * d;
  STATIC_REQUIRE(module == 123217920);
  json::Value config = released_config("ERNIE-4.5-21B-A3B");
  config.erase("num_nextn_predict_layers");
  CHECK_THAT(told(import_config(config, "c.json")),
             Catch::Contains("of 123217920 parameters is not counted; "
                             "set \"num_nextn_predict_layers\": 1 in the config to count it"));
  config["num_nextn_predict_layers"] = 1;
  const ModelCard named = import_config(config, "c.json");
  CHECK(told(named).empty());
  CHECK(mtp_parameters(named.arch).total == module);
  CHECK_THAT(told(load_model("ernie-4.5-21b-a3b")), Catch::Contains("of 123217920 parameters"));
}

// hf configuration_*.py in transformers 5.
TEST_CASE("missing sizes default to those of the config class", "[import]") {
  const Arch qwen = arch(part(R"({"model_type": "qwen3_5_moe_text"})")),
             next = arch(part(R"({"model_type": "qwen3_next"})"));
  CHECK(qwen.moe.experts == 256);
  CHECK(qwen.moe.top_k == 8);
  CHECK(next.moe.experts == 512);
  CHECK(next.moe.top_k == 10);
  const Arch m2 = arch(part(R"({"model_type": "minimax_m2"})"));
  CHECK(m2.moe.experts == 256);
  CHECK(m2.moe.top_k == 8);
  CHECK(m2.moe.width == 1536);
  CHECK(m2.head_dim == 128);
  CHECK(m2.hidden == 3072);
  CHECK(parameters(arch(part(R"({"model_type": "step3p7"})"))).total ==
        parameters(arch(part(R"({"model_type": "step3p5"})"))).total);
  CHECK(arch(small("deepseek_ref", R"("o_groups": 2)")) == arch(small("deepseek_v4", R"("o_groups": 2)")));
}

// hf afmoe, bamba: q, k, v and o have biases with attention_bias; bamba's gate, up and down with mlp_bias. 8 layers of
// width 96, with 2 KV heads of width 16.
TEST_CASE("biases that the config enables are counted", "[import]") {
  const auto more = [](const char* type, const std::string& keys, const std::string& bias) {
    const Count without = parameters(arch(small(type, keys))).total;
    return parameters(arch(small(type, keys + ", \"" + bias + "\": true"))).total - without;
  };
  const std::string gated =
      R"("head_dim": 16, "num_experts": 4, "moe_intermediate_size": 64, "num_experts_per_tok": 2)";
  CHECK(more("afmoe", gated, "attention_bias") == 8 * (96 + 2 * 32 + 96));
  const std::string mixers = R"("attn_layer_indices": [1, 5], "mamba_n_heads": 12, "mamba_d_head": 16)";
  CHECK(more("bamba", mixers, "attention_bias") == 2 * (96 + 2 * 32 + 96));
  CHECK(more("bamba", mixers, "mlp_bias") == 8 * (2 * 256 + 96));
  CHECK_THAT(refusal(small("qwen3_5_text", R"("attention_bias": true)")),
             Catch::Contains("biases of an attention output gate are not supported"));
}
