// Properties that a parameter count does not show: norms, positions, heads, biases, tied weights, names.

#include "calc/parameters.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

TEST_CASE("the placement of norms follows the family", "[import]") {
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

TEST_CASE("position encodings follow the family's config switches", "[import]") {
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

TEST_CASE("KV heads follow each family's rule", "[import]") {
  CHECK(arch(part(R"({"model_type": "llama", "num_key_value_heads": null})")).kv_heads == 32);
  const auto falcon = [](const char* more) { return arch(small("falcon", more)).kv_heads; };
  CHECK(falcon("") == 1);
  CHECK(falcon(R"("multi_query": false)") == 6);
  CHECK(falcon(R"("new_decoder_architecture": true, "num_kv_heads": 3)") == 3);
  CHECK(falcon(R"("new_decoder_architecture": true, "n_head_kv": 2)") == 2);
  CHECK(arch(small("gpt_bigcode", R"("multi_query": false)")).kv_heads == 6);
  CHECK(arch(small("gpt_bigcode", "")).kv_heads == 1);
}

TEST_CASE("LM heads are tied by default in the families for which transformers ties them", "[import]") {
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

TEST_CASE("biases without a config key follow the family", "[import]") {
  CHECK(arch(small("qwen2", "")).qkv_bias);
  CHECK_FALSE(arch(small("qwen2", "")).attention_out_bias);
  CHECK(arch(small("phi", "")).head_bias);
  CHECK(arch(small("gptj", "")).head_bias);
  CHECK(arch(small("internlm2", "")).qkv_bias);
  CHECK(arch(small("gpt_oss", "")).attention_sinks);
  CHECK_FALSE(arch(small("glm4_moe", R"("attention_bias": true)")).attention_out_bias);
  CHECK(arch(small("qwen3", R"("attention_bias": true)")).attention_out_bias);
}

TEST_CASE("MTP modules are counted separately, or only noted for families whose module is unknown", "[import]") {
  const ModelCard one = imported(small("deepseek_v3", R"("num_nextn_predict_layers": 1)"));
  CHECK(one.arch.mtp.modules == 1);
  CHECK(parameters(one.arch) == parameters(arch(small("deepseek_v3", ""))));
  const ModelCard other = imported(small("llama", R"("num_nextn_predict_layers": 2)"));
  CHECK(other.arch.mtp == Mtp{});
  CHECK(other.caveats.front() == "2 MTP modules are not counted");
}

TEST_CASE("an imported model is named after its checkpoint, file or folder", "[import]") {
  const auto name = [](const std::string& more, const std::string& where) {
    return import_config(json::parse(small("llama", more), where), where).name;
  };
  CHECK(name(R"("_name_or_path": "meta-llama/Llama-2-7b-hf")", "c.json") == "Llama-2-7b-hf");
  CHECK(name("", "models/mine/config.json") == "mine");
  CHECK(name("", "mine.json") == "mine");
  CHECK(name("", "config.json") == "llama");
}
