// Rejected configs, and caveats about incomplete ones.

#include "presets/unknown_keys.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "tests/presets/released.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("a config without a size that every model must state is rejected", "[import]") {
  const auto without = [](const char* key) {
    json::Value v = json::parse(small("llama", ""), "c.json");
    v.erase(key);
    return v.dump();
  };
  for (const std::string key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}) {
    CHECK(refusal(without(key.c_str())) ==
          "c.json: \"" + key + "\" is missing; the config of a complete model must specify it");
    json::Value v = json::parse(small("llama", ""), "c.json");
    v[key] = nullptr;
    CHECK(refusal(v.dump()) == "c.json: \"" + key + "\": expected a whole number of at least 1, got null");
    CHECK_THAT(refusal(part(v.dump())), Catch::Contains("got null"));
  }
}

TEST_CASE("every default value in use is reported as a caveat", "[import]") {
  const auto caveats = [](const std::string& config) { return imported(config).caveats; };
  CHECK(caveats(small("llama", "")).empty());
  // LlamaConfig's defaults; as many KV heads as heads, head width hidden / heads.
  CHECK(caveats(part(R"({"model_type": "llama", "hidden_size": 1024})"))[1] ==
        "c.json, \"text_config\" omits some sizes, so the family's defaults are used: num_hidden_layers 32, "
        "num_attention_heads 32, intermediate_size 11008, vocab_size 32000, max_position_embeddings 2048");
  CHECK(caveats(small("olmoe", R"("num_experts": 8)")) ==
        std::vector<std::string>{"c.json omits some sizes, so the family's defaults are used: num_experts_per_tok 8"});
}

TEST_CASE("the error for an unknown family suggests the nearest families and the command that lists them", "[import]") {
  const std::string said = refusal(small("lama", ""));
  CHECK(said.find("model_type \"lama\" is not supported; the closest are \"llama\", ") != std::string::npos);
  CHECK(said.find("'llmcalc list families'") != std::string::npos);
  CHECK(said.size() < 220);
  CHECK(refusal(R"({"model_type": "zamba", "hidden_size": 768})").find("\"zamba\" is not supported") !=
        std::string::npos);
  CHECK(refusal(R"({"hidden_size": 768})").find("\"model_type\" is missing") != std::string::npos);
  CHECK(refusal("[]").find("an object") != std::string::npos);
  CHECK(refusal(R"({"model_type": 5})").find("\"model_type\"") != std::string::npos);
}

TEST_CASE("unknown config keys are reported unless no size depends on them", "[import]") {
  const auto unknown = [](const std::string& more) { return imported(small("llama", more)).unknown_keys; };
  for (const char* key : {"ngram_vocab_size_ratio", "loop_num", "value_residual", "conv_window", "cla_share_factor",
                          "num_kv_reuse_layers", "hybrid_override_pattern", "v_head_dim", "num_mtp_modules"})
    CHECK(unknown("\"" + std::string(key) + "\": 2") == std::vector<std::string>{key});
  CHECK(unknown(R"("temperature": 0.6, "eos_token_id": [1, 2], "attention_dropout": 0.1, "router_aux_loss_coef": 0.01,
    "id2label": {"0": "A"}, "task_specific_params": {"x": 1}, "image_token": "<image>")")
            .empty());
  CHECK(unknown(R"("lora_rank": 8, "extra_bias": true)") == std::vector<std::string>{"lora_rank", "extra_bias"});
  CHECK(unknown(R"("num_experts": 8)") == std::vector<std::string>{"num_experts"});
  CHECK(unknown(R"("rms_norm_eps": 1e-5, "torch_dtype": "bfloat16", "rope_theta": 1e4, "use_cache": true)").empty());
  CHECK(unknown(R"("extra_bias": false, "lora_rank": 0, "norm_extra": null, "moe_layers": [])").empty());
}

TEST_CASE("an invalid config is rejected with a one-sentence error", "[import]") {
  const auto says = [](const std::string& config, const char* what) {
    CAPTURE(config);
    CHECK_THAT(refusal(config), Catch::Contains(what));
  };
  says(small("llama", R"("head_dim": 0)"), "\"head_dim\"");
  says(small("llama", R"("mlp_bias": "yes")"), "\"mlp_bias\"");
  says(part(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 6})"), "not a multiple of 6 heads");
  says(part(R"({"model_type": "llama", "hidden_size": -1})"), "\"hidden_size\"");
  says(part(R"({"model_type": "llama", "hidden_size": 4096.5})"), "\"hidden_size\"");
  says(part(R"({"model_type": "llama", "num_hidden_layers": 100000})"), "layers, got 100000");
  says(part(R"({"model_type": "llama", "num_key_value_heads": 5})"), "5 KV heads");
  says(part(R"({"model_type": "llama", "vocab_size": 9000000000000})"), "vocabulary");
  says(part(R"({"model_type": "llama", "hidden_act": "wobble"})"), "\"wobble\"");
  says(part(R"({"model_type": "gpt2", "n_embd": 768, "hidden_size": 1024})"), "both keys have the same meaning");
  says(part(R"({"model_type": "mixtral", "num_experts_per_tok": 9})"),
       "expected a whole number from 1 to 8, the number of experts, got 9");
  says(small("gemma3_text", R"("layer_types": ["full_attention"])"), "expected one entry per layer (8), got 1");
  says(small("deepseek_v2", ""), "\"num_experts_per_tok\" is missing");
  says(small("llama", R"("is_encoder_decoder": true)"), "is_encoder_decoder");
  says(part(R"({"model_type": "bloom", "n_embed": 4611686018427387904})"), "2^63");
  says(
      part(
          R"({"model_type": "llama", "hidden_size": 2147483648, "num_attention_heads": 8, "intermediate_size": 2147483648,
           "num_hidden_layers": 1000})"),
      "2^63");
}

TEST_CASE("a head wider than RWKV-7's hidden size is rejected", "[import]") {
  CHECK_THAT(refusal(part(R"({"model_type": "rwkv7", "hidden_size": 64, "head_dim": 96})")),
             Catch::Contains("not a multiple of the head width"));
}

// hub Qwen/Qwen-VL-Chat: an encoder of 48 layers of width 1664, in "visual".
TEST_CASE("unknown objects in a config are always reported", "[import]") {
  const ModelCard card = imported(small("qwen", R"("no_bias": true, "visual": {"layers": 48, "width": 1664})"));
  CHECK(card.unknown_keys == std::vector<std::string>{"visual"});
  CHECK(unknown_keys_note(card) == "\"visual\" in c.json is not understood and was not counted");
  CHECK(imported(small("llama", R"("temperature": {"a": 1})")).unknown_keys == std::vector<std::string>{"temperature"});
}

TEST_CASE("keys outside a composite's text model are reported unless the text model repeats them", "[import]") {
  const std::string text = small("llama", "");
  const auto unknown = [&](const std::string& more) {
    return imported(R"({"model_type": "whole", "text_config": )" + text + ", " + more + "}").unknown_keys;
  };
  CHECK(unknown(R"("hidden_size": 96, "image_token_id": 5, "talker_config": {"layers": 9}, "extra_size": 3)") ==
        std::vector<std::string>{"talker_config", "extra_size"});
  CHECK(unknown(R"("hidden_size": 64)") == std::vector<std::string>{"hidden_size"});
}

TEST_CASE("one note names a few unknown keys and counts the others", "[import]") {
  std::string more = R"("a0": 1)";
  for (int i = 1; i < 40; ++i) more += ", \"a" + std::to_string(i) + "\": 1";
  CHECK(unknown_keys_note(imported(small("llama", more))) ==
        R"("a0", "a1", "a2", "a3" and 36 more in c.json are not understood and were not counted)");
  CHECK(unknown_keys_note(imported(small("llama", R"("x": 1, "y": 2)"))) ==
        R"("x" and "y" in c.json are not understood and were not counted)");
  CHECK(unknown_keys_note(imported(small("llama", "\"" + std::string(5000, 'k') + "\": 1"))).size() < 150);
}

// hf falcon_h1, configuration_falcon_h1.py: "mamba_d_head * mamba_n_heads != mamba_intermediate" raises an error.
TEST_CASE("a size with two contradictory values is rejected", "[import]") {
  const auto says = [](const std::string& type, const std::string& more, const char* what) {
    CAPTURE(type);
    CHECK(refusal(small(type, more)) == "c.json: " + std::string(what) + ", but they must be equal; correct one");
  };
  says("falcon_h1", R"("mamba_d_ssm": 3072, "mamba_n_heads": 24, "mamba_d_head": 64)",
       R"("mamba_d_ssm" is 3072 and "mamba_n_heads" x "mamba_d_head" is 1536)");
  says("bamba", R"("mamba_expand": 2, "mamba_n_heads": 4, "mamba_d_head": 64)",
       R"("mamba_expand" x "hidden_size" is 192 and "mamba_n_heads" x "mamba_d_head" is 256)");
  says("deepseek_v3", R"("qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "qk_head_dim": 256)",
       R"("qk_head_dim" is 256 and "qk_nope_head_dim" + "qk_rope_head_dim" is 192)");
  says("gpt_oss", R"("num_experts_per_tok": 4, "experts_per_token": 8)",
       R"("experts_per_token" is 8 and "num_experts_per_tok" is 4)");
  says("hunyuan_v1_dense", R"("head_dim": 16, "attention_head_dim": 32)",
       R"("attention_head_dim" is 32 and the head width ("head_dim") is 16)");
  says("lfm2", R"("conv_dim": 128)", R"("conv_dim" is 128 and "hidden_size" is 96)");
  CHECK_THAT(refusal(R"({"model_type": "falcon", "num_hidden_layers": 2, "hidden_size": 96, "num_attention_heads": 6,
    "vocab_size": 1000, "ff_factor": 4, "ffn_hidden_size": 512})"),
             Catch::Contains(R"("ff_factor" x "hidden_size" is 384 and the MLP width ("ffn_hidden_size") is 512)"));
  CHECK(refusal(small("falcon_h1", R"("mamba_d_ssm": 1536, "mamba_n_heads": 24, "mamba_d_head": 64)")) ==
        "nothing was rejected");
}

TEST_CASE("keys for layer types that a family lacks are reported", "[import]") {
  const auto unknown = [](const std::string& more) { return imported(small("llama", more)).unknown_keys; };
  const auto one = [](const char* key) { return std::vector<std::string>{key}; };
  CHECK(unknown(R"("num_kv_shared_layers": 4)") == one("num_kv_shared_layers"));
  CHECK(unknown(R"("num_sliding_attention_heads": 12)") == one("num_sliding_attention_heads"));
  CHECK(unknown(R"("num_attention_heads_per_layer": [12, 12, 12, 12, 12, 12, 12, 12])") ==
        one("num_attention_heads_per_layer"));
  CHECK(unknown(R"("compress_rates": {"compressed_sparse_attention": 4})") == one("compress_rates"));
  CHECK(unknown(R"("attn_output_gate": true)") == one("attn_output_gate"));
  CHECK(unknown(R"("layer_types": ["mamba", "mamba"])") == one("layer_types"));
  CHECK(unknown(R"("layer_types": ["full_attention", "full_attention"])").empty());
}

TEST_CASE("draft models are recognized by their class or their keys and rejected", "[import]") {
  for (const char* name : {"DFlashDraftModel", "DFlash2DraftModel", "DSparkDraftModel", "MedusaModel", "Qwen3MTP",
                           "LlamaForCausalLMEagle3", "DeepseekMTPModel", "DeepseekV3ForCausalLMNextN"}) {
    CAPTURE(name);
    CHECK(refusal(small("qwen3", R"("architectures": [")" + std::string(name) + "\"]")) ==
          "c.json: \"" + std::string(name) +
              "\" is a draft model, which reads the states of another model and is not counted; import that model "
              "instead");
  }
  CHECK(refusal(small("qwen3", R"("dflash_config": {"target_layer_ids": [1, 5]})")) ==
        "c.json: \"dflash_config\" marks a draft model, which reads the states of another model and is not counted; "
        "import that model instead");
}

// google/gemma-4-*-it-assistant; nvidia/Eagle2.5-8B is a vision-language model.
TEST_CASE("draft models are also recognized by the class of a composite config", "[import]") {
  const auto composite = [](const char* name) {
    return R"({"model_type": "draft", "architectures": [")" + std::string(name) + R"("], "text_config": )" +
           small("qwen3", "") + "}";
  };
  CHECK_THAT(refusal(composite("Gemma4AssistantForCausalLM")), Catch::Contains("is a draft model"));
  CHECK(arch(composite("Eagle2_5_VLForConditionalGeneration")) == arch(small("qwen3", "")));
}

TEST_CASE("a config class of another family is reported", "[import]") {
  const auto notes = [](const char* type, const char* name) {
    return imported(small(type, R"("architectures": [")" + std::string(name) + "\"]")).caveats;
  };
  CHECK(
      notes("llama", "OuroForCausalLM") ==
      std::vector<std::string>{"\"architectures\" names \"OuroForCausalLM\", which is not a known class of model_type "
                               "\"llama\"; the model is counted according to its model_type"});
  for (const auto& [type, name] : {std::pair{"llama", "LlamaForSequenceClassification"},
                                   {"qwen3", "Qwen3ForCausalLM"},
                                   {"gpt_neox", "GPTNeoXForCausalLM"},
                                   {"phi", "PhiForCausalLM"},
                                   {"openai-gpt", "OpenAIGPTLMHeadModel"},
                                   {"olmo2", "Olmo2ForCausalLM"}}) {
    CAPTURE(type, name);
    for (const std::string& note : notes(type, name)) CHECK(note.find("not a known class") == std::string::npos);
  }
}

TEST_CASE("a quantization config that is not an object is rejected", "[import]") {
  CHECK(refusal(small("llama", R"("quantization_config": "fp8")")) ==
        "c.json: \"quantization_config\": expected an object with the format of the stored weights, got \"fp8\"; use a "
        "form like {\"quant_method\": \"fp8\"}, or omit it");
  CHECK_THAT(refusal(small("llama", R"("quantization_config": [])")), Catch::Contains("got array"));
  CHECK_FALSE(imported(small("llama", R"("quantization_config": null)")).weights);
  CHECK_FALSE(imported(small("llama", R"("quantization_config": {})")).weights);
}

TEST_CASE("defaults are not reported if a list in the config states the same values", "[import]") {
  for (const char* name : {"GLM-5", "DeepSeek-V3.2", "LongCat-Flash-Chat"})
    for (const std::string& note : imported(released_config(name).dump()).caveats)
      CHECK(note.find("defaults are used") == std::string::npos);
  json::Value types = json::Value::array();
  for (int i = 0; i < 48; ++i) types.push_back(i % 4 == 3 ? "full_attention" : "linear_attention");
  json::Value next = released_config("Qwen3-Next-80B-A3B");
  next.erase("full_attention_interval");
  CHECK(imported(next.dump()).caveats.size() == 1);
  CHECK_THAT(imported(next.dump()).caveats[0], Catch::Contains("full_attention_interval"));
  next["layer_types"] = types;
  CHECK(imported(next.dump()).caveats.empty());
}

TEST_CASE("an unknown layer type in a list of layers is rejected", "[import]") {
  const auto said = [](const char* type, const char* words) {
    return refusal(small(type, R"("layer_types": [)" + std::string(words) + "]"));
  };
  const std::string four = R"("foo", "full_attention", "full_attention", "full_attention")";
  const std::string eight = four + R"(, "full_attention", "full_attention", "full_attention", "full_attention")";
  CHECK(said("qwen3_next", eight.c_str()) ==
        "c.json: \"layer_types\": expected linear_attention or full_attention, got \"foo\"");
  CHECK(said("gemma2", eight.c_str()) ==
        "c.json: \"layer_types\": expected full_attention or sliding_attention, got \"foo\"");
  CHECK(said("lfm2", eight.c_str()) == "c.json: \"layer_types\": expected conv or full_attention, got \"foo\"");
  CHECK(said("granitemoehybrid", eight.c_str()) == "c.json: \"layer_types\": expected attention or mamba, got \"foo\"");
}

TEST_CASE("MTP modules in a model without full attention layers are rejected", "[import]") {
  json::Value c = json::parse(small("qwen3_next", R"("num_experts": 8, "num_experts_per_tok": 2)"), "c.json");
  c["num_hidden_layers"] = 2;
  CHECK(arch(c.dump()).mtp.modules == 0);
  c["mtp_num_hidden_layers"] = 1;
  CHECK_THAT(refusal(c.dump()), Catch::StartsWith("c.json: \"mtp_num_hidden_layers\": MTP modules have full "
                                                  "attention, but no layer of the model has it"));
}

TEST_CASE("a size under a family-specific key is not reported as a default", "[import]") {
  json::Value c = json::parse(small("lfm2", R"("block_ff_dim": 300)"), "c.json");
  c.erase("intermediate_size");
  for (const std::string& note : imported(c.dump()).caveats) CHECK(note.find("intermediate_size") == std::string::npos);
}
