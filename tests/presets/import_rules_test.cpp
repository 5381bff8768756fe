// What a count alone does not show: windows, norms, positions, defaults, and what is refused.

#include "calc/parameters.hpp"
#include "presets/import/import.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

ModelCard imported(const std::string& config) { return import_config(json::parse(config, "c.json"), "c.json"); }

Arch arch(const std::string& config) { return imported(config).arch; }

std::string refusal(const std::string& config) {
  try {
    imported(config);
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was refused";
}

/// The text part of a composite config: what it leaves out is its family's default.
std::string part(const std::string& text) { return R"({"model_type": "whole", "text_config": )" + text + "}"; }

/// A config of `type` with `more` keys: small, 8 layers, context 64.
std::string small(const std::string& type, const std::string& more) {
  return R"({"model_type": ")" + type + R"(", "num_hidden_layers": 8, "hidden_size": 96, "num_attention_heads": 6,
    "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 1000, "max_position_embeddings": 64)" +
         (more.empty() ? "" : ", " + more) + "}";
}

LayerSet layers(std::initializer_list<Count> list) {
  LayerSet set;
  for (const Count i : list) set.insert(i);
  return set;
}

const std::string eight_types = R"("layer_types": ["full_attention", "sliding_attention", "sliding_attention",
  "full_attention", "full_attention", "full_attention", "full_attention", "sliding_attention"])";

}  // namespace

TEST_CASE("Mistral slides on every layer unless told not to", "[import]") {
  CHECK(arch(small("mistral", R"("sliding_window": 16)")).local == LocalAttention{{16}, LayerSet::all(8)});
  CHECK(arch(small("mistral", R"("sliding_window": null)")).local.reach.tokens == 0);
  CHECK(arch(small("mistral", "")).local.reach.tokens == 0);       // 4096 exceeds the context
  const Arch absent = arch(part(R"({"model_type": "mistral"})"));  // MistralConfig: window 4096, context 131072
  CHECK(absent.local == LocalAttention{{4096}, LayerSet::all(32)});
  CHECK(absent.kv_heads == 8);
  CHECK(arch(part(R"({"model_type": "mistral", "num_key_value_heads": null})")).kv_heads == 32);
}

TEST_CASE("a window as long as the context is none", "[import]") {
  CHECK(arch(small("mistral", R"("sliding_window": 64)")).local == LocalAttention{});
  CHECK(arch(small("phi3", R"("sliding_window": 64)")).local == LocalAttention{});
  CHECK(arch(small("phi3", R"("sliding_window": 63)")).local == LocalAttention{{63}, LayerSet::all(8)});
  CHECK(arch(small("starcoder2", R"("sliding_window": null)")).local == LocalAttention{});
  CHECK(arch(small("mixtral", "")).local == LocalAttention{});
}

TEST_CASE("Qwen slides only under use_sliding_window, from max_window_layers on", "[import]") {
  CHECK(arch(small("qwen2", R"("sliding_window": 16, "max_window_layers": 5)")).local == LocalAttention{});
  const std::string on = R"("use_sliding_window": true, "sliding_window": 16, "max_window_layers": 5)";
  CHECK(arch(small("qwen2", on)).local == LocalAttention{{16}, layers({5, 6, 7})});
  CHECK(arch(small("qwen3", on)).local == LocalAttention{{16}, layers({5, 6, 7})});
  CHECK(arch(small("qwen2", R"("use_sliding_window": true, "sliding_window": 16)")).local == LocalAttention{});
  CHECK(arch(small("qwen2", on + ", " + eight_types)).local == LocalAttention{{16}, layers({1, 2, 7})});
}

TEST_CASE("Gemma, Cohere, OLMo and gpt-oss slide in their own patterns and layer_types wins", "[import]") {
  const std::string window = R"("sliding_window": 16)";
  CHECK(arch(small("gemma2", window)).local == LocalAttention{{16}, layers({0, 2, 4, 6})});
  CHECK(arch(small("gemma3_text", window)).local == LocalAttention{{16}, layers({0, 1, 2, 3, 4, 6, 7})});
  CHECK(arch(small("gemma3_text", window + R"(, "sliding_window_pattern": 2)")).local ==
        LocalAttention{{16}, layers({0, 2, 4, 6})});
  CHECK(arch(small("cohere2", window)).local == LocalAttention{{16}, layers({0, 1, 2, 4, 5, 6})});
  CHECK(arch(small("olmo3", window)).local == LocalAttention{{16}, layers({0, 1, 2, 4, 5, 6})});
  CHECK(arch(small("gpt_oss", window)).local == LocalAttention{{16}, layers({0, 2, 4, 6})});
  CHECK(arch(small("exaone4", window + R"(, "sliding_window_pattern": "LG")")).local ==
        LocalAttention{{16}, layers({0, 2, 4, 6})});
  for (const char* type : {"gemma2", "gemma3_text", "cohere2", "olmo3", "gpt_oss", "exaone4", "mistral"}) {
    CAPTURE(type);
    CHECK(arch(small(type, window + ", " + eight_types)).local == LocalAttention{{16}, layers({1, 2, 7})});
    CHECK(arch(small(type, R"("sliding_window": null)")).local == LocalAttention{});
  }
}

TEST_CASE("Gemma 4 shares keys and values in its last layers, and has wider MLPs there", "[import]") {
  const std::string types = R"("layer_types": ["sliding_attention", "full_attention", "sliding_attention",
    "full_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"])";
  const Arch a = arch(small("gemma4_text", types + R"(, "sliding_window": 16, "num_kv_shared_layers": 4,
    "use_double_wide_mlp": true, "head_dim": 16, "global_head_dim": 32, "hidden_size_per_layer_input": 8)"));
  REQUIRE(a.mixers.size() == 3);
  CHECK(a.local == LocalAttention{{16}, layers({0, 2})});
  CHECK(a.mixers[0].layers == layers({1, 3}));
  CHECK(a.mixers[0].head_dim == 32);
  CHECK(a.mixers[1].layers == layers({4, 6}));
  CHECK(a.mixers[1].reach == Reach{16});
  CHECK((a.mixers[1].shared_kv && a.mixers[2].shared_kv && !a.mixers[0].shared_kv));
  CHECK(a.mlps[0] == LayerMlp{512, layers({4, 5, 6, 7})});
  CHECK(a.per_layer == PerLayerInput{262144, 8});
  CHECK(refusal(small("gemma4_text", R"("num_kv_shared_layers": 8)")) ==
        "c.json: \"num_kv_shared_layers\" is not below the number of layers; lower it");
  CHECK(
      refusal(small("gemma4_text", R"("num_kv_shared_layers": 3)")) ==
      "c.json: layer 5 shares keys and values, but the last layer before it with its own and the same window has other "
      "heads or widths, or there is none; give one");
}

TEST_CASE("Llama 4 attends in chunks where it has RoPE and has experts where it says", "[import]") {
  const std::string chunk = R"("attention_chunk_size": 16)";
  CHECK(arch(small("llama4_text", chunk)).local == LocalAttention{{16, true}, layers({0, 1, 2, 4, 5, 6})});
  CHECK(arch(small("llama4_text", chunk + R"(, "no_rope_layers": [])")).local.layers == layers({0, 1, 2, 4, 5, 6}));
  CHECK(arch(small("llama4_text", chunk + R"(, "no_rope_layers": [1, 0, 1, 0, 1, 0, 1, 0])")).local.layers ==
        layers({0, 2, 4, 6}));
  const Arch dense = arch(small("llama4_text", R"("interleave_moe_layer_step": 2, "intermediate_size_mlp": 512)"));
  CHECK(dense.moe.layers == layers({1, 3, 5, 7}));
  CHECK(dense.moe.width == 256);
  CHECK(dense.moe.shared_width == 256);
  CHECK(dense.mlp_width == 512);
  CHECK(arch(small("llama4_text", R"("moe_layers": [2])")).moe.layers == layers({2}));
  CHECK(arch(small("llama4_text", "")).mlp_width == 0);  // experts in every layer
  CHECK(arch(small("llama4_text", "")).qk_norm == QkNorm::weight_free);
  CHECK(arch(small("llama4_text", R"("use_qk_norm": false)")).qk_norm == QkNorm::none);
}

TEST_CASE("experts sit in the layers that the family's keys name", "[import]") {
  CHECK(arch(small("qwen3_moe", R"("decoder_sparse_step": 3)")).moe.layers == layers({2, 5}));
  CHECK(arch(small("qwen3_moe", R"("mlp_only_layers": [0, 7])")).moe.layers == layers({1, 2, 3, 4, 5, 6}));
  CHECK(arch(small("qwen3_moe", R"("decoder_sparse_step": 3)")).mlp_width == 256);
  CHECK(arch(small("qwen3_moe", "")).mlp_width == 0);
  CHECK(arch(small("deepseek_v3", R"("first_k_dense_replace": 2, "moe_layer_freq": 3)")).moe.layers == layers({3, 6}));
  CHECK(arch(small("deepseek_v3", "")).moe.router_correction);
  CHECK_FALSE(arch(small("deepseek_v2", R"("num_experts_per_tok": 2)")).moe.router_correction);
  CHECK_FALSE(arch(small("deepseek_v2", R"("n_routed_experts": null)")).has_experts());
  CHECK(arch(small("ernie4_5_moe", R"("moe_layer_interval": 2, "moe_layer_start_index": 2, "moe_layer_end_index": 5)"))
            .moe.layers == layers({3, 5}));
}

TEST_CASE("LongCat's layers are counted once, whatever num_hidden_layers says", "[import]") {
  const auto longcat = [](const char* layers) {
    return R"({"model_type": "longcat_flash", "hidden_size": 96, "num_attention_heads": 6, "ffn_hidden_size": 256,
      "vocab_size": 1000, "max_position_embeddings": 64, )" +
           std::string(layers) + "}";
  };
  CHECK(arch(longcat(R"("num_layers": 4)")).layers == 4);
  CHECK(arch(longcat(R"("num_layers": 4, "num_hidden_layers": 8)")).layers == 4);
  CHECK(arch(longcat(R"("num_layers": 4)")).block == BlockKind::shortcut);
  CHECK(arch(longcat(R"("num_layers": 4, "zero_expert_num": null)")).moe.zero_experts == 0);
  CHECK_THAT(refusal(longcat(R"("num_layers": 4, "num_hidden_layers": 4)")), Catch::Contains("must be twice"));
  CHECK_THAT(refusal(longcat(R"("num_layers": 4, "zero_expert_type": "copy")")), Catch::Contains("must be"));
}

TEST_CASE("DeepSeek-V4 pools keys where its ratios say so", "[import]") {
  const auto v4 = [](const char* ratios) {
    return small("deepseek_v4", std::string(R"("o_groups": 2, "sliding_window": 16, "compress_ratios": )") + ratios);
  };
  const Arch a = arch(v4("[0, 0, 4, 128, 4, 128, 4, 128, 0]"));  // the ninth is that of multi-token prediction
  CHECK(a.compressed.ratio == 0);
  CHECK(a.local == LocalAttention{{16}, layers({0, 1})});
  CHECK(a.mixers[0].layers == layers({2, 4, 6}));
  CHECK(a.mixers[0].indexer.runs());
  CHECK(a.mixers[1].layers == layers({3, 5, 7}));
  CHECK(a.mixers[1].reach == Reach{16});
  CHECK(arch(small("deepseek_v4", R"("o_groups": 2)")).mixers[0].layers == layers({3, 5, 7}));
  CHECK_THAT(refusal(v4("[0, 0, 4]")), Catch::Contains("per layer (8), got 3"));
  CHECK_THAT(refusal(v4("[0, 0, 4, 128, 4, 128, 4, 7]")), Catch::Contains("expected 0, 4 or 128, got 7"));
}

TEST_CASE("an indexer's choice is shared where the config says so", "[import]") {
  const auto shared = [](const char* keys) {
    const Arch a = arch(small("glm_moe_dsa", keys));
    return a.mixers.empty() ? LayerSet() : a.mixers[0].layers;
  };
  CHECK(shared("").empty());
  CHECK(shared(R"("index_topk_freq": 4, "index_skip_topk_offset": 3)") == layers({3, 4, 5, 7}));
  CHECK(shared(R"("index_topk_pattern": "FFSSFSSS")") == layers({2, 3, 5, 6, 7}));
  CHECK(shared(R"("indexer_types": ["full", "shared", "full", "full", "full", "full", "full", "shared", "full"])") ==
        layers({1, 7}));  // the ninth entry is the multi-token-prediction layer's
  CHECK_THAT(refusal(small("glm_moe_dsa", R"("index_topk_pattern": "SFFFFFFF")")), Catch::Contains("none before it"));
  CHECK_THAT(refusal(small("glm_moe_dsa", R"("index_topk_pattern": "FF")")), Catch::Contains("per layer (8), got 2"));
  CHECK_THAT(refusal(small("glm_moe_dsa", R"("mlp_layer_types": ["dense", "sparse", "sparse", "sparse", "sparse",
    "sparse", "sparse", "sparse"])")),
             Catch::Contains("make them agree"));
}

// GLM-5.2: layers 0, 1, 2, 6, 10, ..., 74 of 78 have an indexer of 2048 x 32 x 128 + 6144 x (128 + 32) + 2 x 128.
TEST_CASE("a shared choice saves the weights and the cache of its indexer", "[import]") {
  const Arch a = arch(part(R"({"model_type": "glm_moe_dsa", "index_topk_freq": 4, "index_skip_topk_offset": 3})"));
  CHECK(a.layers - a.mixers[0].layers.size() == 21);
  CHECK(test::parameters_of(a, "attn.index") == 21 * (2048 * 32 * 128 + 6144 * (128 + 32) + 256));
  CHECK(cache_elements_per_token(a) == 78 * 576 + 21 * 128);
}

TEST_CASE("block-sparse attention is where MiniMax-M3's list says so", "[import]") {
  const auto m3 = [](const char* keys) {
    return small("minimax_m3", std::string(R"("sparse_attention_config": {)") + keys + "}");
  };
  const Arch a = arch(m3(R"("sparse_attention_freq": [0, 0, 1, 1, 1, 1, 1, 1])"));
  CHECK(a.indexer.kind == IndexerKind::none);
  CHECK(a.mixers[0].layers == LayerSet::every(2, 1, 8));
  CHECK(a.mixers[0].indexer.selection() == Selection{2048, 128});
  CHECK_THAT(refusal(m3(R"("sparse_local_block": 2)")), Catch::Contains("other fixed blocks"));
  CHECK_THAT(refusal(m3(R"("sparse_disable_index_value": [0, 0, 0, 0, 0, 0, 0, 0])")),
             Catch::Contains("indexer with values"));
  CHECK_THAT(refusal(small("minimax_m3", R"("attention_output_gate": true)")), Catch::Contains("gate is not known"));
}

TEST_CASE("MiniMax has lightning attention where its list says so", "[import]") {
  const std::string list = R"("attn_type_list": [0, 0, 0, 1, 0, 0, 0, 1])";
  CHECK(arch(small("minimax_text_01", list)).linear_layers == layers({0, 1, 2, 4, 5, 6}));
  CHECK(arch(small("minimax", "")).linear_layers == layers({1, 3, 5, 7}));
  CHECK(arch(small("minimax_m2", R"("attn_type_list": [1, 1, 1, 1, 1, 1, 1, 1])")).linear_layers.empty());
}

TEST_CASE("norms sit where the family puts them", "[import]") {
  const auto placed = [](const char* type) { return arch(small(type, "")).norm_placement; };
  CHECK(placed("llama") == NormPlacement::pre);
  CHECK(placed("gemma2") == NormPlacement::both);
  CHECK(placed("glm4") == NormPlacement::both);
  CHECK(placed("olmo2") == NormPlacement::output);
  CHECK(placed("exaone4") == NormPlacement::output);
  CHECK(placed("olmoe") == NormPlacement::pre);
  const Arch opt = arch(small("opt", R"("do_layer_norm_before": false, "word_embed_proj_dim": 48)"));
  CHECK(opt.norm_placement == NormPlacement::post);
  CHECK_FALSE(opt.final_norm);
  CHECK(opt.embedding_width == 48);
  CHECK(opt.position_rows == 66);
  CHECK(arch(small("gptj", "")).norms_per_layer == 1);
  CHECK(arch(small("gpt_neox", "")).norms_per_layer == 2);
  CHECK(arch(small("gpt_neox", "")).block == BlockKind::parallel);
  CHECK(arch(small("gpt_neox", R"("use_parallel_residual": false)")).block == BlockKind::serial);
  CHECK(arch(small("stablelm", R"("use_parallel_residual": true)")).norms_per_layer == 1);
}

TEST_CASE("positions follow the family's switches", "[import]") {
  const auto position = [](const char* type, const char* more) { return arch(small(type, more)).position; };
  CHECK(position("falcon", R"("alibi": true)") == Position::alibi);
  CHECK(position("falcon", "") == Position::rope);
  CHECK(position("gpt2", "") == Position::learned);
  CHECK(position("bloom", "") == Position::alibi);
  CHECK(position("baichuan", "") == Position::rope);
  CHECK(position("mpt", R"("attn_config": {"alibi": false, "rope": true})") == Position::rope);
  CHECK(position("mpt", R"("attn_config": {"alibi": false}, "learned_pos_emb": false)") == Position::none);
  const Arch big = arch(R"({"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40,
    "num_hidden_layers": 40, "intermediate_size": 13696, "model_max_length": 4096, "vocab_size": 125696})");
  CHECK(big.position == Position::alibi);
  CHECK(big.context == 4096);
}

TEST_CASE("KV heads follow each family's own rule", "[import]") {
  CHECK(arch(part(R"({"model_type": "llama", "num_key_value_heads": null})")).kv_heads == 32);
  const auto falcon = [](const char* more) { return arch(small("falcon", more)).kv_heads; };
  CHECK(falcon("") == 1);
  CHECK(falcon(R"("multi_query": false)") == 6);
  CHECK(falcon(R"("new_decoder_architecture": true, "num_kv_heads": 3)") == 3);
  CHECK(falcon(R"("new_decoder_architecture": true, "n_head_kv": 2)") == 2);
  CHECK(arch(small("gpt_bigcode", R"("multi_query": false)")).kv_heads == 6);
  CHECK(arch(small("gpt_bigcode", "")).kv_heads == 1);
}

TEST_CASE("heads are tied by default where the library ties them", "[import]") {
  const auto tied = [](const char* type) { return arch(small(type, "")).tied_head; };
  for (const char* type : {"gpt2", "opt", "bloom", "falcon", "gemma", "gemma2", "gemma3_text", "cohere", "cohere2",
                           "starcoder2", "smollm3", "ernie4_5", "minicpm", "exaone"}) {
    CAPTURE(type);
    CHECK(tied(type));
    CHECK_FALSE(arch(small(type, R"("tie_word_embeddings": false)")).tied_head);
  }
  for (const char* type : {"llama", "mistral", "qwen2", "qwen3", "phi", "phi3", "gpt_neox", "gptj", "olmo2", "stablelm",
                           "nemotron", "granite", "apertus", "seed_oss", "mixtral", "persimmon", "glm4_moe"}) {
    CAPTURE(type);
    CHECK_FALSE(tied(type));
    CHECK(arch(small(type, R"("tie_word_embeddings": true)")).tied_head);
  }
}

TEST_CASE("biases that no key mentions are there", "[import]") {
  CHECK(arch(small("qwen2", "")).qkv_bias);
  CHECK_FALSE(arch(small("qwen2", "")).attention_out_bias);
  CHECK(arch(small("phi", "")).head_bias);
  CHECK(arch(small("gptj", "")).head_bias);
  CHECK(arch(small("internlm2", "")).qkv_bias);
  CHECK(arch(small("gpt_oss", "")).attention_sinks);
  CHECK_FALSE(arch(small("glm4_moe", R"("attention_bias": true)")).attention_out_bias);
  CHECK(arch(small("qwen3", R"("attention_bias": true)")).attention_out_bias);
}

TEST_CASE("the text part of a composite config is read and said to be a part", "[import]") {
  const std::string text = R"({"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6, "head_dim": 16,
    "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 1000})";
  const auto wrapped = [&](const std::string& type) {
    return imported(R"({"model_type": ")" + type + R"(", "text_config": )" + text + "}");
  };
  CHECK(wrapped("gemma3").arch.qk_norm == QkNorm::per_head);
  CHECK(wrapped("gemma3").caveats[0] == "text part only: a vision or audio tower beside it is not counted");
  // gemma3_text's defaults: 131072 positions, a window of 4096 on five layers of six.
  CHECK_THAT(wrapped("gemma3").caveats[1],
             Catch::Contains("the family's defaults count: max_position_embeddings 131072"));
  CHECK(wrapped("llama4").arch.has_experts());
  CHECK(wrapped("llava").arch.layers == 2);
  const ModelCard any = imported(R"({"model_type": "something_new", "tie_word_embeddings": true, "text_config":
    {"model_type": "llama", "num_hidden_layers": 2}})");
  CHECK(any.arch.layers == 2);
  CHECK(any.arch.tied_head);
  CHECK(refusal(R"({"model_type": "new", "text_config": {"vocab_size": 5}})").find("\"new_text\"") !=
        std::string::npos);
  CHECK(refusal(R"({"model_type": "new", "text_config": 5})").find("\"text_config\" is not an object") !=
        std::string::npos);
}

TEST_CASE("a size that every model states is not guessed", "[import]") {
  const auto without = [](const char* key) {
    json::Value v = json::parse(small("llama", ""), "c.json");
    v.erase(key);
    return v.dump();
  };
  for (const std::string key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}) {
    CHECK(refusal(without(key.c_str())) == "c.json: \"" + key + "\" is missing; the config of a whole model states it");
    json::Value v = json::parse(small("llama", ""), "c.json");
    v[key] = nullptr;
    CHECK(refusal(v.dump()) == "c.json: \"" + key + "\": expected a whole number of at least 1, got null");
    CHECK_THAT(refusal(part(v.dump())), Catch::Contains("got null"));
  }
}

TEST_CASE("every default that is taken is a caveat", "[import]") {
  const auto caveats = [](const std::string& config) { return imported(config).caveats; };
  CHECK(caveats(small("llama", "")).empty());
  // LlamaConfig's own defaults; KV heads are as many as heads, the head width is hidden / heads.
  CHECK(caveats(part(R"({"model_type": "llama", "hidden_size": 1024})"))[1] ==
        "c.json, \"text_config\" leaves out, so the family's defaults count: num_hidden_layers 32, "
        "num_attention_heads 32, intermediate_size 11008, vocab_size 32000, max_position_embeddings 2048");
  CHECK(caveats(small("olmoe", R"("num_experts": 8)")) ==
        std::vector<std::string>{"c.json leaves out, so the family's defaults count: num_experts_per_tok 8"});
}

TEST_CASE("an unknown family is refused by name with the nearest and where the list is", "[import]") {
  const std::string said = refusal(small("lama", ""));
  CHECK(said.find("model_type \"lama\" is not known; the nearest are \"llama\", ") != std::string::npos);
  CHECK(said.find("'llmcalc list families'") != std::string::npos);
  CHECK(said.size() < 220);
  CHECK(refusal(R"({"model_type": "zamba", "hidden_size": 768})").find("\"zamba\" is not known") != std::string::npos);
  CHECK(refusal(R"({"hidden_size": 768})").find("\"model_type\" is missing") != std::string::npos);
  CHECK(refusal("[]").find("an object") != std::string::npos);
  CHECK(refusal(R"({"model_type": 5})").find("\"model_type\"") != std::string::npos);
}

TEST_CASE("unknown keys that sound like parameters are reported and others are not", "[import]") {
  const auto unknown = [](const std::string& more) { return imported(small("llama", more)).unknown_keys; };
  CHECK(unknown(R"("lora_rank": 8, "extra_bias": true)") == std::vector<std::string>{"lora_rank", "extra_bias"});
  CHECK(unknown(R"("num_experts": 8)") == std::vector<std::string>{"num_experts"});
  CHECK(unknown(R"("rms_norm_eps": 1e-5, "torch_dtype": "bfloat16", "rope_theta": 1e4, "use_cache": true)").empty());
  CHECK(unknown(R"("extra_bias": false, "lora_rank": 0, "norm_extra": null, "moe_layers": [])").empty());
}

TEST_CASE("modules for further tokens stand beside the model, or are noted where their family's are not known",
          "[import]") {
  const ModelCard one = imported(small("deepseek_v3", R"("num_nextn_predict_layers": 1)"));
  CHECK(one.arch.mtp.modules == 1);
  CHECK(parameters(one.arch) == parameters(arch(small("deepseek_v3", ""))));
  const ModelCard other = imported(small("llama", R"("num_nextn_predict_layers": 2)"));
  CHECK(other.arch.mtp == Mtp{});
  CHECK(other.caveats.front() == "2 multi-token-prediction layers beside the model are not counted");
}

TEST_CASE("an imported model is called by its checkpoint, its file or its folder", "[import]") {
  const auto name = [](const std::string& more, const std::string& where) {
    return import_config(json::parse(small("llama", more), where), where).name;
  };
  CHECK(name(R"("_name_or_path": "meta-llama/Llama-2-7b-hf")", "c.json") == "Llama-2-7b-hf");
  CHECK(name("", "models/mine/config.json") == "mine");
  CHECK(name("", "mine.json") == "mine");
  CHECK(name("", "config.json") == "llama");
}

TEST_CASE("a config that cannot be built is refused with one sentence", "[import]") {
  const auto says = [](const std::string& config, const char* what) {
    CAPTURE(config);
    CHECK_THAT(refusal(config), Catch::Contains(what));
  };
  says(small("llama", R"("head_dim": 0)"), "\"head_dim\"");
  says(small("llama", R"("mlp_bias": "yes")"), "\"mlp_bias\"");
  says(part(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 6})"), "no multiple of 6 heads");
  says(part(R"({"model_type": "llama", "hidden_size": -1})"), "\"hidden_size\"");
  says(part(R"({"model_type": "llama", "hidden_size": 4096.5})"), "\"hidden_size\"");
  says(part(R"({"model_type": "llama", "num_hidden_layers": 100000})"), "layers, got 100000");
  says(part(R"({"model_type": "llama", "num_key_value_heads": 5})"), "5 KV heads");
  says(part(R"({"model_type": "llama", "vocab_size": 9000000000000})"), "vocabulary");
  says(part(R"({"model_type": "llama", "hidden_act": "wobble"})"), "\"wobble\"");
  says(part(R"({"model_type": "gpt2", "n_embd": 768, "hidden_size": 1024})"), "both mean the same");
  says(part(R"({"model_type": "mixtral", "num_experts_per_tok": 9})"),
       "expected a whole number from 1 to 8, the number of experts, got 9");
  says(small("gemma3_text", R"("layer_types": ["full_attention"])"), "expected one entry per layer (8), got 1");
  says(small("deepseek_v2", ""), "\"num_experts_per_tok\" is missing");
  says(small("llama", R"("is_encoder_decoder": true)"), "is_encoder_decoder");
  says(part(R"({"model_type": "bloom", "n_embed": 4611686018427387904})"), "passes 2^63");
  says(
      part(
          R"({"model_type": "llama", "hidden_size": 2147483648, "num_attention_heads": 8, "intermediate_size": 2147483648,
           "num_hidden_layers": 1000})"),
      "passes 2^63");
}

TEST_CASE("BERT's head is that of the class that its config names", "[import]") {
  const auto head = [](const char* name) {
    return arch(small("bert", R"("architectures": [")" + std::string(name) + "\"]")).head;
  };
  CHECK(arch(small("bert", "")).head == ModelHead{.kind = HeadKind::none, .pooler = true});
  CHECK(head("BertModel") == ModelHead{.kind = HeadKind::none, .pooler = true});
  CHECK(head("BertForMaskedLM") == ModelHead{.kind = HeadKind::masked_token});
  CHECK(head("BertForPreTraining") == ModelHead{.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true});
  CHECK(refusal(small("bert", R"("architectures": ["BertForTokenClassification"])")) ==
        "c.json: \"architectures\" names BertForTokenClassification, whose head is not known; expected BertModel, "
        "BertForMaskedLM, BertForPreTraining or BertForNextSentencePrediction");
  CHECK(refusal(small("bert", R"("is_decoder": true)")) ==
        "c.json: \"is_decoder\" is true; BERT is known as an encoder alone");
}

TEST_CASE("T5 has as many layers in its decoder as in its encoder unless it says otherwise", "[import]") {
  const auto t5 = [](const std::string& more) {
    return arch(R"({"model_type": "t5", "d_model": 96, "num_layers": 3, "num_heads": 4, "d_kv": 16, "d_ff": 256,
      "vocab_size": 1000)" +
                more + "}");
  };
  CHECK(t5("").layers == 6);
  CHECK(t5("").mixers[0].layers == layers({3, 4, 5}));
  CHECK(t5(R"(, "num_decoder_layers": 1)").mixers[0].layers == layers({3}));
  CHECK(t5("").mlp == MlpKind::plain);
  CHECK(t5("").activation == Activation::relu);
  CHECK(t5("").tied_head);
  CHECK(t5(R"(, "feed_forward_proj": "gated-gelu")").mlp == MlpKind::gated);
  CHECK(t5(R"(, "feed_forward_proj": "gated-gelu")").activation == Activation::gelu_tanh);
}
