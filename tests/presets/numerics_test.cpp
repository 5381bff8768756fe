// Settings in a config that affect a model's arithmetic.

#include <cmath>

#include "presets/import/import.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;

namespace {

json::Value config(const char* type, const json::Value& more = json::Value::object()) {
  json::Value v{{"model_type", type},
                {"hidden_size", 64},
                {"intermediate_size", 96},
                {"num_hidden_layers", 6},
                {"num_attention_heads", 4},
                {"num_key_value_heads", 2},
                {"head_dim", 16},
                {"vocab_size", 100},
                {"max_position_embeddings", 4096},
                {"tie_word_embeddings", true},
                {"sliding_window", nullptr}};
  v.update(more);
  return v;
}

Numerics numerics(const char* type, const json::Value& more = json::Value::object()) {
  return import_runnable(config(type, more), "config").numerics;
}

}  // namespace

TEST_CASE("a Llama's epsilon, RoPE base and scaling come from its config or its class defaults", "[numerics]") {
  CHECK(numerics("llama") == Numerics{.norm_epsilon = 1e-6});
  const Numerics n = numerics("llama", {{"rms_norm_eps", 1e-5},
                                        {"rope_theta", 500000.0},
                                        {"rope_scaling",
                                         {{"rope_type", "llama3"},
                                          {"factor", 8.0},
                                          {"low_freq_factor", 1.0},
                                          {"high_freq_factor", 4.0},
                                          {"original_max_position_embeddings", 8192}}}});
  CHECK(n.norm_epsilon == 1e-5);
  CHECK(n.rope == Rope{.base = 500000, .scaling = RopeScaling::llama3, .factor = 8, .trained = 8192});
  CHECK(n.local_rope == n.rope);
}

TEST_CASE("rope_parameters of transformers 5 give RoPE base and scaling", "[numerics]") {
  CHECK(numerics("qwen3", {{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1e6}}}}).rope ==
        Rope{.base = 1e6});
  const Numerics n =
      numerics("gemma3_text", {{"rope_parameters",
                                {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e6}}},
                                 {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 1e4}}}}}});
  CHECK(n.rope == Rope{.base = 1e6, .scaling = RopeScaling::linear, .factor = 8, .trained = 4096});
  CHECK(n.local_rope == Rope{.base = 1e4});
}

TEST_CASE("yarn scales rotated values by 0.1 ln(factor) + 1 unless the config has a factor", "[numerics]") {
  const auto factor = [](json::Value more) {
    more.update({{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 1024}});
    return numerics("qwen2", {{"rope_scaling", more}}).rope.attention_factor;
  };
  CHECK(factor(json::Value::object()) == Approx(0.1 * std::log(4.0) + 1));
  CHECK(factor({{"attention_factor", 1.5}}) == 1.5);
  CHECK(factor({{"mscale", 0.707}, {"mscale_all_dim", 0.707}}) == 1);
}

TEST_CASE("Gemma models have unit-offset norms, scaled embeddings and scores, and caps from their config",
          "[numerics]") {
  const Numerics one = numerics("gemma");
  CHECK((one.unit_offset && one.embedding_scale == 8 && one.score_scale == 0 && one.logit_cap == 0));
  const Numerics two = numerics("gemma2");
  CHECK((two.score_scale == 0.0625 && two.score_cap == 50 && two.logit_cap == 30));
  const Numerics uncapped =
      numerics("gemma2", {{"attn_logit_softcapping", nullptr}, {"final_logit_softcapping", nullptr}});
  CHECK((uncapped.score_cap == 0 && uncapped.logit_cap == 0));
  const Numerics three = numerics("gemma3_text", {{"query_pre_attn_scalar", 64}});
  CHECK((three.score_scale == 0.125 && three.score_cap == 0 && three.rope.base == 1e6 && three.local_rope.base == 1e4));
}

TEST_CASE("the text model of a composite config determines the model that runs", "[numerics]") {
  json::Value text = config("gemma3_text");
  const Runnable r = import_runnable({{"model_type", "gemma3"}, {"text_config", text}}, "config");
  CHECK(r.model_type == "gemma3_text");
  CHECK(r.arch.layers == 6);
}

TEST_CASE("the error for an unsupported convention names its key", "[numerics]") {
  const auto refusal = [](const char* type, const json::Value& more) {
    return test::sentence([&] { numerics(type, more); });
  };
  const auto says = [](const std::string& sentence, const char* part) {
    return sentence.find(part) != std::string::npos;
  };
  CHECK(says(refusal("falcon", {{"new_decoder_architecture", true}}),
             "checkpoints of model_type \"falcon\" cannot be run"));
  CHECK(says(refusal("llama", {{"rope_scaling", {{"type", "longrope"}}}}), "rotary scaling \"longrope\""));
  CHECK(
      says(refusal("llama", {{"rope_scaling", {{"type", "linear"}}}}), "\"factor\": expected a number of at least 1"));
  CHECK(says(refusal("llama", {{"rope_theta", -1}}), "\"rope_theta\": expected a number above 0"));
  CHECK(
      says(refusal("llama", {{"quantization_config", {{"quant_method", "fp8"}}}}), "quantized weights cannot be run"));
  CHECK(says(refusal("gemma3_text", {{"use_bidirectional_attention", true}}), "use_bidirectional_attention"));
  CHECK(says(refusal("llama", {{"hidden_act", "quick_gelu"}}), "does not support quick_gelu"));
}
