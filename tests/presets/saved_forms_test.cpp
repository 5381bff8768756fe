// A model's published config.json and the one that hf transformers 5.6 to 5.16 saves: different keys, the same model.
// Saved forms follow src/transformers/models/*/configuration_*.py by hand: keys that __post_init__ pops or
// attribute_map renames.

#include "calc/parameters.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "tests/presets/released.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

using json::Value;

Value taken(Value& c, const char* key) {
  Value v = c.at(key);
  c.erase(key);
  return v;
}

void rename(Value& c, const char* key, const char* to) { c[to] = taken(c, key); }

/// One term per layer: the element of `of` whose index is the layer's entry in `numbers`.
Value words(const Value& numbers, const std::vector<std::string>& of) {
  Value out = Value::array();
  for (const Value& n : numbers) out.push_back(of.at(n.get<std::size_t>()));
  return out;
}

Value dense_first(Count dense, Count layers) {
  Value out = Value::array();
  for (Count i = 0; i < layers; ++i) out.push_back(i < dense ? "dense" : "sparse");
  return out;
}

Value replaced(Value list, const std::vector<std::pair<std::string, std::string>>& words_of) {
  for (Value& one : list)
    for (const auto& [from, to] : words_of)
      if (one == from) {
        one = to;
        break;
      }
  return list;
}

const std::vector<std::pair<std::string, std::string>> todays = {{"mamba", "linear_attention"},
                                                                 {"attention", "full_attention"},
                                                                 {"M", "linear_attention"},
                                                                 {"*", "full_attention"},
                                                                 {"-", "mlp"},
                                                                 {"E", "moe"}};

/// Checks that both forms give the same model and caveats.
void check_same(const Value& published, const Value& saved) {
  const ModelCard a = import_config(published, "c.json"), b = import_config(saved, "c.json");
  CHECK(parameters(a.arch).total == parameters(b.arch).total);
  CHECK(parameters(a.arch).active == parameters(b.arch).active);
  CHECK(a.arch == b.arch);
  CHECK(b.unknown_keys.empty());
  CHECK(a.caveats == b.caveats);
}

Value saved_step(Value c) {
  const Count layers = c["num_hidden_layers"];
  const Value other = taken(c, "attention_other_setting");
  const std::string sparse = "," + taken(c, "moe_layers_enum").get<std::string>() + ",";
  c["layer_types"].erase(c["layer_types"].begin() + layers, c["layer_types"].end());
  c["mlp_layer_types"] = c["num_attention_heads_per_layer"] = Value::array();
  for (Count i = 0; i < layers; ++i) {
    const bool marked = sparse.find("," + std::to_string(i) + ",") != std::string::npos;
    c["mlp_layer_types"].push_back(marked ? "sparse" : "dense");
    const bool slides = c["layer_types"][static_cast<std::size_t>(i)] == "sliding_attention";
    c["num_attention_heads_per_layer"].push_back(slides ? other["num_attention_heads"] : c["num_attention_heads"]);
  }
  c["num_sliding_attention_heads"] = other["num_attention_heads"];
  rename(c, "num_attention_groups", "num_key_value_heads");
  rename(c, "moe_num_experts", "n_routed_experts");
  rename(c, "moe_top_k", "num_experts_per_tok");
  c["swiglu_limits"] = c["swiglu_limits_shared"] = Value(static_cast<std::size_t>(layers), Value());
  c["swiglu_limits"][44] = 7.0;
  return c;
}

Value saved_mimo(Value c) {
  c["layer_types"] = words(taken(c, "hybrid_layer_pattern"), {"full_attention", "sliding_attention"});
  c["mlp_layer_types"] = words(taken(c, "moe_layer_freq"), {"dense", "sparse"});
  for (const char* key : {"swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim",
                          "add_swa_attention_sink_bias", "add_full_attention_sink_bias"})
    c.erase(key);
  return c;
}

Value saved_deepseek_v4(Value c) {
  const auto layers = c["num_hidden_layers"].get<std::size_t>(), hashed = c["num_hash_layers"].get<std::size_t>();
  const Value ratios = taken(c, "compress_ratios");
  c.erase("num_hash_layers");
  c["layer_types"] = c["mlp_layer_types"] = Value::array();
  for (std::size_t i = 0; i < layers; ++i) {
    c["layer_types"].push_back(ratios[i] == 0   ? "sliding_attention"
                               : ratios[i] == 4 ? "compressed_sparse_attention"
                                                : "heavily_compressed_attention");
    c["mlp_layer_types"].push_back(i < hashed ? "hash_moe" : "moe");
  }
  c["compress_rates"] = {{"compressed_sparse_attention", 4}, {"heavily_compressed_attention", 128}};
  c["partial_rotary_factor"] = taken(c, "qk_rope_head_dim").get<double>() / c["head_dim"].get<double>();
  return c;
}

Value saved_minimax_m3(Value whole) {
  Value& c = whole.contains("text_config") ? whole["text_config"] : whole;
  const Value sparse = taken(c, "sparse_attention_config");
  c["layer_types"] = words(sparse["sparse_attention_freq"], {"full_attention", "minimax_m3_sparse"});
  c["mlp_layer_types"] = words(taken(c, "moe_layer_freq"), {"dense", "sparse"});
  c["index_n_heads"] = sparse["sparse_num_index_heads"];
  c["index_head_dim"] = sparse["sparse_index_dim"];
  c["index_block_size"] = sparse["sparse_block_size"];
  c["index_topk_blocks"] = sparse["sparse_topk_blocks"];
  c["index_local_blocks"] = 1;
  return whole;
}

Value saved_kimi(Value c) {
  const Value linear = taken(c, "linear_attn_config");
  const Count layers = c["num_hidden_layers"];
  c["layer_types"] = Value(static_cast<std::size_t>(layers), Value("full_attention"));
  for (const Value& i : linear["kda_layers"]) c["layer_types"][i.get<std::size_t>() - 1] = "linear_attention";
  c["linear_head_dim"] = linear["head_dim"];
  c["linear_num_heads"] = linear["num_heads"];
  c["linear_conv_kernel_dim"] = linear["short_conv_kernel_size"];
  c["mlp_layer_types"] = dense_first(taken(c, "first_k_dense_replace"), layers);
  c["attn_res_block_size"] = 0;
  c["dense_ffn_hidden"] = c["intermediate_size"];
  return c;
}

Value saved_nemotron(Value c, const char* key) {
  Value list = Value::array();
  if (c.contains("hybrid_override_pattern"))
    for (const char letter : taken(c, "hybrid_override_pattern").get<std::string>())
      list.push_back(std::string(1, letter));
  else
    list = taken(c, "layers_block_type");
  c[key] = replaced(list, todays);
  c["mtp_layers_block_type"] = {"full_attention", "moe"};
  c.erase("mtp_hybrid_override_pattern");
  c.erase("num_hidden_layers");
  return c;
}

}  // namespace

TEST_CASE("saved configs of Step, MiMo, DeepSeek-V4, MiniMax-M3 and Kimi Linear give the published models",
          "[import][saved]") {
  const auto same = [](const char* name, Value (*saved)(Value)) {
    CAPTURE(name);
    const Value published = released_config(name);
    check_same(published, saved(published));
  };
  same("Step-3.5-Flash", saved_step);
  same("MiMo-V2-Flash", saved_mimo);
  same("DeepSeek-V4-Flash", saved_deepseek_v4);
  same("MiniMax-M3", saved_minimax_m3);
  same("Kimi-Linear-48B-A3B", saved_kimi);
}

TEST_CASE("saved configs of Mamba hybrids give the published models", "[import][saved]") {
  for (const char* name : {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16"})
    for (const char* key : {"layers_block_type", "layer_types"}) {
      CAPTURE(name, key);
      check_same(released_config(name), saved_nemotron(released_config(name), key));
    }
  for (const char* name : {"granite-4.0-h-tiny", "granite-4.0-micro"})
    for (const char* key : {"layers_block_type", "layer_types"}) {
      CAPTURE(name, key);
      Value c = released_config(name), saved = c;
      saved[key] = replaced(taken(saved, "layer_types"), todays);
      saved["mamba_conv_bias"] = true;
      saved["mamba_chunk_size"] = c["mamba_chunk_size"] = saved.value("mamba_chunk_size", 256);
      saved["max_position_embeddings"] = c["max_position_embeddings"] = saved.value("max_position_embeddings", 131072);
      check_same(c, saved);
    }
}

TEST_CASE("a layer_types list replaces Jamba's and Bamba's layer keys", "[import][saved]") {
  const Value jamba = released_config("Jamba-1.5-Mini");
  Value saved = jamba;
  for (const char* key : {"attn_layer_period", "attn_layer_offset", "expert_layer_period", "expert_layer_offset"})
    saved.erase(key);
  saved["layer_types"] = saved["mlp_layer_types"] = Value::array();
  for (Count i = 0; i < 32; ++i) {
    saved["layer_types"].push_back(i % 8 == 4 ? "full_attention" : "linear_attention");
    saved["mlp_layer_types"].push_back(i % 2 == 1 ? "sparse" : "dense");
  }
  check_same(jamba, saved);
  saved["layer_types"][4] = "linear_attention";
  CHECK(arch(saved.dump()).mixers[0].layers.size() == 29);
  saved["attn_layer_period"] = 8;
  CHECK(refusal(saved.dump()) ==
        "c.json: \"layer_types\" and \"attn_layer_period\" name different layers; make them agree");

  const std::string of = R"("mamba_n_heads": 3, "mamba_d_head": 64, "mamba_d_state": 16, )";
  const Arch indices = arch(small("bamba", of + R"("attn_layer_indices": [2, 6])"));
  CHECK(indices.mixers[0].layers == others_of(8, {2, 6}));
  CHECK(indices == arch(small("bamba", of + R"("layer_types": ["mamba", "mamba", "attention", "mamba", "mamba", "mamba",
      "attention", "mamba"])")));
  CHECK(indices == arch(small("bamba", of + R"("layer_types": ["linear_attention", "linear_attention", "full_attention",
      "linear_attention", "linear_attention", "linear_attention", "full_attention", "linear_attention"])")));
}

TEST_CASE("mlp_layer_types replaces the number of dense layers", "[import][saved]") {
  for (const char* name : {"GLM-5", "DeepSeek-V3.2", "GLM-4.7-Flash", "LFM2-8B-A1B"}) {
    CAPTURE(name);
    const Value published = released_config(name);
    Value saved = published;
    const char* key = saved.contains("num_dense_layers") ? "num_dense_layers" : "first_k_dense_replace";
    const Count dense = taken(saved, key), layers = saved["num_hidden_layers"];
    saved.erase("moe_layer_freq");
    saved["mlp_layer_types"] = dense_first(dense, layers);
    check_same(published, saved);
    saved["mlp_layer_types"][1] = saved["mlp_layer_types"][1] == "dense" ? "sparse" : "dense";
    CHECK(parameters(arch(saved.dump())).total != parameters(arch(published.dump())).total);
  }
}

TEST_CASE("both layer_types terms for layers with an indexer are accepted", "[import][saved]") {
  Value c = released_config("GLM-5");
  const Arch published = arch(c.dump());
  for (const char* word : {"deepseek_sparse_attention", "indexed_attention"}) {
    c["layer_types"] = Value(c["num_hidden_layers"].get<std::size_t>(), Value(word));
    CHECK(arch(c.dump()) == published);
    CHECK(imported(c.dump()).unknown_keys.empty());
  }
  c["layer_types"][3] = "full_attention";
  CHECK(refusal(c.dump()) == "c.json: \"layer_types\": expected indexed_attention, got \"full_attention\"");
}

TEST_CASE("T5 1.1's head stays untied although transformers saves tie_word_embeddings as true", "[import][saved]") {
  Value c = released_config("flan-t5-small");
  const Arch published = arch(c.dump());
  c["tie_word_embeddings"] = true;
  CHECK(arch(c.dump()).tied_head);
  c["scale_decoder_outputs"] = false;
  CHECK(arch(c.dump()) == published);
}

TEST_CASE("missing lists of layers default to those of their config class", "[import][saved]") {
  Value step = released_config("Step-3.5-Flash");
  step.erase("moe_layers_enum");
  CHECK(parameters(arch(step.dump())).total == 196956118272);
  Value mimo = released_config("MiMo-V2-Flash");
  mimo.erase("hybrid_layer_pattern");
  mimo.erase("moe_layer_freq");
  CHECK(arch(mimo.dump()).mixers[0].layers.size() == 39);
  CHECK(arch(mimo.dump()) == arch(released_config("MiMo-V2-Flash").dump()));
}

TEST_CASE("two keys with contradictory layers or heads are rejected", "[import][saved]") {
  Value mimo = saved_mimo(released_config("MiMo-V2-Flash"));
  mimo["hybrid_layer_pattern"] = Value(48, 1);
  CHECK(refusal(mimo.dump()) ==
        "c.json: \"hybrid_layer_pattern\" and \"layer_types\" name different layers; make them agree");
  Value step = saved_step(released_config("Step-3.5-Flash"));
  step["num_sliding_attention_heads"] = 64;
  CHECK_THAT(refusal(step.dump()), Catch::Contains("\"num_attention_heads_per_layer\" contradicts"));
  step = saved_step(released_config("Step-3.5-Flash"));
  step["num_attention_heads_per_layer"][1] = 48;
  CHECK_THAT(refusal(step.dump()), Catch::Contains("\"num_attention_heads_per_layer\": layer 2 has 96 heads, but"));
  Value v4 = saved_deepseek_v4(released_config("DeepSeek-V4-Flash"));
  v4["compress_rates"]["heavily_compressed_attention"] = 64;
  CHECK_THAT(refusal(v4.dump()), Catch::Contains("expected 4 for"));
  Value both = released_config("DeepSeek-V4-Flash");
  both["layer_types"] = Value(43, Value("sliding_attention"));
  CHECK_THAT(refusal(both.dump()), Catch::Contains("\"compress_ratios\" and \"layer_types\" specify different layers"));
}

TEST_CASE("an unread list that distinguishes layers is rejected unless its key affects no size", "[import][saved]") {
  const auto says = [](const std::string& more) { return refusal(small("llama", more)); };
  const std::string eight = R"([1, 1, 1, 1, 1, 1, 1, 2])";
  CHECK(
      says(R"("kv_heads_of_layers": )" + eight) ==
      "c.json: \"kv_heads_of_layers\" distinguishes layers, but model_type \"llama\" is supported only without it; use "
      "the config.json that the model was published with, or write an llmcalc model file");
  CHECK_THAT(says(R"("layer_types": ["mamba", "full_attention"])"),
             Catch::Contains("\"layer_types\" distinguishes layers"));
  CHECK_THAT(says(R"("mlp_layer_types": ["dense", "sparse"])"),
             Catch::Contains("\"mlp_layer_types\" distinguishes layers"));
  for (const char* harmless : {"rope_thetas", "swiglu_limits", "eos_token_ids", "labels", "output_hidden_layers"})
    CHECK(says("\"" + std::string(harmless) + "\": " + eight) == "nothing was rejected");
  CHECK(says(R"("kv_heads_of_layers": [2, 2, 2, 2, 2, 2, 2, 2])") == "nothing was rejected");
  CHECK(says(R"("some_list": [1, 2, 3])") == "nothing was rejected");
}
