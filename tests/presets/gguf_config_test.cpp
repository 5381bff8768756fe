// A GGUF file's keys give the same model as the published config.json.

#include "presets/header/gguf_config.hpp"

#include "presets/import/import.hpp"
#include "presets/load.hpp"
#include "tests/catch.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using test::sentence;

namespace {

/// Contents of a file: keys without the architecture's prefix, and names of tensors other than the token embedding,
/// whose shape is `vocabulary` x the embedding length.
struct Said {
  const char *preset, *architecture;
  Count vocabulary;
  std::vector<std::pair<std::string, Count>> keys;
  std::vector<std::string> tensors{"output.weight"};
};

void add(Checkpoint& c, const std::string& name, const std::vector<Count>& shape) {
  c.tensors.add(name, "F32", shape, 0, [](TensorType&) {});
}

Checkpoint checkpoint(const Said& s) {
  Checkpoint c;
  c.where = "m.gguf";
  c.keys = {{"general.architecture", s.architecture}};
  Count width = 0;
  for (const auto& [key, value] : s.keys) {
    c.keys[std::string(s.architecture) + "." + key] = value;
    if (key == "embedding_length") width = value;
  }
  add(c, "token_embd.weight", {s.vocabulary, width});
  for (const std::string& name : s.tensors) add(c, name, {});
  return c;
}

Arch arch_of(const Said& s) { return import_config(gguf_config(checkpoint(s)), "m.gguf").arch; }

std::vector<std::pair<std::string, Count>> sizes(Count layers, Count width, Count heads, Count kv, Count context,
                                                 std::vector<std::pair<std::string, Count>> more = {}) {
  more.insert(more.end(), {{"block_count", layers},
                           {"embedding_length", width},
                           {"attention.head_count", heads},
                           {"attention.head_count_kv", kv},
                           {"context_length", context}});
  return more;
}

using KeyNames = std::vector<std::pair<std::string, Count>>;
KeyNames with(KeyNames keys, const KeyNames& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}
/// Keys of DeepSeek-V3, shared by V3.2.
KeyNames deepseek_v3() {
  return sizes(61, 7168, 128, 1, 163840,
               {{"feed_forward_length", 18432},
                {"leading_dense_block_count", 3},
                {"expert_count", 256},
                {"expert_used_count", 8},
                {"expert_shared_count", 1},
                {"expert_feed_forward_length", 2048},
                {"attention.q_lora_rank", 1536},
                {"attention.kv_lora_rank", 512},
                {"rope.dimension_count", 64},
                {"attention.key_length", 576},
                {"attention.key_length_mla", 192},
                {"attention.value_length", 512},
                {"attention.value_length_mla", 128}});
}
/// Keys of MiniMax-M3 without its indexer, and tensors that show its features.
KeyNames minimax_m3() {
  return sizes(60, 6144, 64, 4, 1048576,
               {{"attention.key_length", 128},
                {"feed_forward_length", 12288},
                {"leading_dense_block_count", 3},
                {"expert_count", 128},
                {"expert_used_count", 4},
                {"expert_shared_count", 1},
                {"expert_feed_forward_length", 3072}});
}
const std::vector<std::string> minimax_m3_tensors{"output.weight", "blk.0.attn_q_norm.weight", "blk.3.exp_probs_b.bias",
                                                  "blk.3.indexer.q_proj.weight"};

}  // namespace

TEST_CASE("GGUF metadata gives the same architecture as the published config", "[gguf]") {
  for (const Said& s : {
           Said{"llama-3.1-8b", "llama", 128256, sizes(32, 4096, 32, 8, 131072, {{"feed_forward_length", 14336}})},
           Said{"llama-3.2-1b", "llama", 128256, sizes(16, 2048, 32, 8, 131072, {{"feed_forward_length", 8192}}), {}},
           Said{"mixtral-8x7b", "llama", 32000,
                sizes(32, 4096, 32, 8, 32768,
                      {{"feed_forward_length", 14336}, {"expert_count", 8}, {"expert_used_count", 2}})},
           Said{"qwen2.5-7b", "qwen2", 152064, sizes(28, 3584, 28, 4, 32768, {{"feed_forward_length", 18944}})},
           Said{"qwen3-30b-a3b", "qwen3moe", 151936,
                sizes(48, 2048, 32, 4, 40960,
                      {{"attention.key_length", 128},
                       {"feed_forward_length", 6144},
                       {"expert_count", 128},
                       {"expert_used_count", 8},
                       {"expert_feed_forward_length", 768}})},
           Said{
               "gemma-3-27b",
               "gemma3",
               262208,
               sizes(
                   62, 5376, 32, 16, 131072,
                   {{"attention.key_length", 128}, {"feed_forward_length", 21504}, {"attention.sliding_window", 1024}}),
               {}},
           Said{
               "gemma-2-9b",
               "gemma2",
               256000,
               sizes(
                   42, 3584, 16, 8, 8192,
                   {{"attention.key_length", 256}, {"feed_forward_length", 14336}, {"attention.sliding_window", 4096}}),
               {}},
           Said{"phi-4-mini", "phi3", 200064, sizes(32, 3072, 24, 8, 131072, {{"feed_forward_length", 8192}}), {}},
           Said{"gpt-oss-20b", "gpt-oss", 201088,
                sizes(24, 2880, 64, 8, 131072,
                      {{"attention.key_length", 64},
                       {"attention.sliding_window", 128},
                       {"expert_count", 32},
                       {"expert_used_count", 4},
                       {"expert_feed_forward_length", 2880}})},
           Said{"deepseek-v3", "deepseek2", 129280, deepseek_v3(), {"output.weight", "blk.3.exp_probs_b.bias"}},
           Said{"deepseek-v3.2",
                "deepseek32",
                129280,
                with(deepseek_v3(), {{"attention.indexer.head_count", 64},
                                     {"attention.indexer.key_length", 128},
                                     {"attention.indexer.top_k", 2048}}),
                {"output.weight", "blk.3.exp_probs_b.bias"}},
           Said{"glm-5",
                "glm-dsa",
                154880,
                sizes(78, 6144, 64, 1, 202752,
                      {{"feed_forward_length", 12288},
                       {"leading_dense_block_count", 3},
                       {"expert_count", 256},
                       {"expert_used_count", 8},
                       {"expert_shared_count", 1},
                       {"expert_feed_forward_length", 2048},
                       {"attention.q_lora_rank", 2048},
                       {"attention.kv_lora_rank", 512},
                       {"rope.dimension_count", 64},
                       {"attention.key_length", 576},
                       {"attention.key_length_mla", 256},
                       {"attention.value_length", 512},
                       {"attention.value_length_mla", 256},
                       {"attention.indexer.head_count", 32},
                       {"attention.indexer.key_length", 128},
                       {"attention.indexer.top_k", 2048}}),
                {"output.weight", "blk.3.exp_probs_b.bias"}},
           Said{"mistral-small-24b", "mistral3", 131072,
                sizes(40, 5120, 32, 8, 32768, {{"attention.key_length", 128}, {"feed_forward_length", 32768}})},
           Said{"glm-4.5-air",
                "glm4moe",
                151552,
                sizes(47, 4096, 96, 8, 131072,
                      {{"attention.key_length", 128},
                       {"feed_forward_length", 10944},
                       {"leading_dense_block_count", 1},
                       {"expert_count", 128},
                       {"expert_used_count", 8},
                       {"expert_shared_count", 1},
                       {"expert_feed_forward_length", 1408},
                       {"nextn_predict_layers", 1}}),
                {"output.weight", "blk.0.attn_q.bias", "blk.1.exp_probs_b.bias"}},
           Said{"command-r-plus",
                "command-r",
                256000,
                sizes(64, 12288, 96, 8, 8192, {{"feed_forward_length", 33792}}),
                {"blk.0.attn_q_norm.weight"}},
           Said{"olmo-2-7b", "olmo2", 100352, sizes(32, 4096, 32, 32, 4096, {{"feed_forward_length", 11008}})},
           Said{"dots.llm1",
                "dots1",
                152064,
                sizes(62, 4096, 32, 32, 32768,
                      {{"feed_forward_length", 10944},
                       {"leading_dense_block_count", 1},
                       {"expert_count", 128},
                       {"expert_used_count", 6},
                       {"expert_shared_count", 2},
                       {"expert_feed_forward_length", 1408}}),
                {"output.weight", "blk.1.exp_probs_b.bias"}},
           Said{"ling-mini-2.0",
                "bailingmoe2",
                157184,
                sizes(20, 2048, 16, 4, 32768,
                      {{"attention.key_length", 128},
                       {"feed_forward_length", 5120},
                       {"leading_dense_block_count", 1},
                       {"expert_count", 256},
                       {"expert_used_count", 8},
                       {"expert_shared_count", 1},
                       {"expert_feed_forward_length", 512},
                       {"expert_shared_feed_forward_length", 512}}),
                {"output.weight", "blk.0.attn_q_norm.weight", "blk.1.exp_probs_b.bias"}},
           Said{"ernie-4.5-21b-a3b",
                "ernie4_5-moe",
                103424,
                sizes(28, 2560, 20, 4, 131072,
                      {{"attention.key_length", 128},
                       {"feed_forward_length", 12288},
                       {"leading_dense_block_count", 1},
                       {"interleave_moe_layer_step", 1},
                       {"expert_count", 64},
                       {"expert_used_count", 6},
                       {"expert_shared_count", 2},
                       {"expert_feed_forward_length", 1536},
                       {"expert_shared_feed_forward_length", 3072}}),
                {}},
           Said{"minimax-m2", "minimax-m2", 200064,
                sizes(62, 3072, 48, 8, 196608,
                      {{"attention.key_length", 128},
                       {"feed_forward_length", 1536},
                       {"expert_count", 256},
                       {"expert_used_count", 8},
                       {"expert_feed_forward_length", 1536}})},
           Said{"minimax-m3", "minimax-m3", 200064,
                with(minimax_m3(), {{"attention.indexer.head_count", 4},
                                    {"attention.indexer.key_length", 128},
                                    {"attention.indexer.top_k", 16},
                                    {"attention.indexer.block_size", 128},
                                    {"attention.indexer.local_blocks", 1}}),
                minimax_m3_tensors},
       }) {
    INFO(s.preset);
    Arch published = load_model(s.preset).arch;
    const bool modules =
        std::any_of(s.keys.begin(), s.keys.end(), [](const auto& k) { return k.first == "nextn_predict_layers"; });
    if (!modules) published.mtp = {};  // llama.cpp's converter omits DeepSeek-V3's
    CHECK(arch_of(s) == published);
  }
}

TEST_CASE("MiniMax-M3 without an indexer attends to all keys, and an incomplete indexer is rejected", "[gguf]") {
  Said s{"minimax-m3", "minimax-m3", 200064, minimax_m3(), {"output.weight", "blk.0.attn_q_norm.weight"}};
  const Arch all = arch_of(s);
  CHECK(all.mixers.empty());
  CHECK(all.indexer.kind == IndexerKind::none);
  CHECK_FALSE(all.moe.router_correction);
  s.tensors = minimax_m3_tensors;
  CHECK_THAT(sentence([&] { arch_of(s); }), Catch::Contains("minimax-m3.attention.indexer.head_count"));
}

TEST_CASE("a GGUF file with an unknown architecture or missing keys is rejected", "[gguf]") {
  const auto said = [](const Said& s) { return sentence([&] { arch_of(s); }); };
  CHECK_THAT(said({"", "qwen3moee", 8, {}}),
             Catch::Contains("'m.gguf': unknown \"general.architecture\" \"qwen3moee\"; the closest are qwen3moe, "));
  CHECK(said({"", "llama", 8, {}}) ==
        "'m.gguf', \"llama.block_count\": expected a whole number of at least 0, got nothing");
  Checkpoint c = checkpoint({"", "llama", 8, sizes(2, 64, 4, 4, 128)});
  c.keys["llama.attention.head_count_kv"] = {4, 2};
  CHECK_THAT(sentence([&] { gguf_config(c); }), Catch::Contains("differs between layers"));
  c.keys["llama.attention.head_count_kv"] = {2, 2};
  CHECK(gguf_config(c)["num_key_value_heads"] == 2);
  c.tensors.clear();
  CHECK_THAT(sentence([&] { gguf_config(c); }),
             Catch::Contains("\"token_embd.weight\" is missing, so this is not a language model"));
}

TEST_CASE("a GGUF file with 2^40 layers is rejected immediately", "[gguf]") {
  const Said huge{"", "llama", 64, sizes(Count{1} << 40, 64, 2, 2, 128, {{"feed_forward_length", 128}})};
  CHECK_THAT(sentence([&] { arch_of(huge); }), Catch::Contains("expected 1 to 1024 layers, got 1099511627776"));
}
