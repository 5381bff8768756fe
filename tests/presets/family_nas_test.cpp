// Nemotron-NAS: layers with optional parts and different heads and widths.

#include <map>

#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// The block for a letter: query heads per KV head (0: no attention) and the MLP factor (0: no MLP).
struct Block {
  Count group = 0;
  double factor = 0;
};
using Blocks = std::map<char, Block>;

std::string entry(const Block& b) {
  const std::string group = b.group > 0 ? std::to_string(b.group) : "null",
                    factor = b.factor > 0 ? std::to_string(b.factor) : "null";
  return R"({"attention": {"n_heads_in_group": )" + group + R"(, "no_op": )" + (b.group > 0 ? "false" : "true") +
         R"(, "num_sink_tokens": null, "replace_with_linear": false, "sparsify": null, "unshifted_sink": false,
           "use_prefill_window_in_sink_attention": false, "window_length": null},
           "ffn": {"ffn_mult": )" +
         factor + R"(, "no_op": )" + (b.factor > 0 ? "false" : "true") +
         R"(, "replace_with_linear": false, "sparsify": null}})";
}

std::string config(Count hidden, Count heads, const Blocks& known, const std::string& pattern) {
  std::string blocks;
  for (const char letter : pattern) blocks += (blocks.empty() ? "" : ", ") + entry(known.at(letter));
  return R"({"architectures": ["DeciLMForCausalLM"], "attention_bias": false, "hidden_act": "silu", "hidden_size": )" +
         std::to_string(hidden) +
         R"(, "intermediate_size": null, "max_position_embeddings": 131072, "mlp_bias": false,
           "model_type": "nemotron-nas", "num_attention_heads": )" +
         std::to_string(heads) + R"(, "num_hidden_layers": )" + std::to_string(pattern.size()) +
         R"(, "num_key_value_heads": null, "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_theta": 500000.0,
           "tie_word_embeddings": false, "vocab_size": 128256, "block_configs": [)" +
         blocks + "]}";
}

// nvidia/Llama-3_3-Nemotron-Super-49B-v1
const std::string super_pattern = "abbbbbccbbbdbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbeccefeceeebeggegggeehhgghhghhbbbbbbbbb";
const std::string super = config(8192, 64,
                                 {{'a', {8, 2.625}},
                                  {'b', {8, 5.25}},
                                  {'c', {0, 2.625}},
                                  {'d', {0, 3.28125}},
                                  {'e', {0, 1.3125}},
                                  {'f', {0, 5.25}},
                                  {'g', {0, 1.0}},
                                  {'h', {0, 0.5}}},
                                 super_pattern);

// nvidia/Llama-3_1-Nemotron-Ultra-253B-v1
const std::string ultra_pattern =
    "abccccccdeeeedddffeeeeeefffeeeeefffgeeedddhfieeeeeffffeeeeeffffeeeeeffffeeeeeffffeeeeefjjjeekgggllgelllllllgeeee"
    "ekfifeeeeeeeemeeeeeeeeneeeeeeeeoeeeeephdgeggjffffg";
const std::string ultra = config(16384, 128,
                                 {{'a', {16, 0.4875}},
                                  {'b', {16, 0.975}},
                                  {'c', {16, 1.4625}},
                                  {'d', {16, 1.95}},
                                  {'e', {0, 0}},
                                  {'f', {16, 4.875}},
                                  {'g', {16, 2.4375}},
                                  {'h', {0, 1.95}},
                                  {'i', {0, 4.875}},
                                  {'j', {16, 3.4125}},
                                  {'k', {16, 2.925}},
                                  {'l', {0, 2.4375}},
                                  {'m', {0, 36.5625}},
                                  {'n', {0, 39.0}},
                                  {'o', {0, 31.40625}},
                                  {'p', {0, 27.5625}}},
                                 ultra_pattern);

/// Token embedding, head and final norm.
Tensors ends(Count hidden) {
  return {{"embed_tokens", {128256, hidden}}, {"lm_head", {128256, hidden}}, {"norm", {hidden}}};
}
/// A gated MLP and its preceding norm, in `layers` layers.
Tensors mlps(Count layers, Count hidden, Count width) {
  return in_layers(layers, together({gated_mlp("mlp", hidden, width), {{"post_attention_layernorm", {hidden}}}}));
}
/// Attention with 8 KV heads and its preceding norm.
Tensors attentions(Count layers, Count hidden, Count heads) {
  return in_layers(layers, together({projections(hidden, heads, 8, 128), {{"input_layernorm", {hidden}}}}));
}

/// A model with 8 heads of width 8.
std::string tiny(const Blocks& known, const std::string& pattern) { return config(64, 8, known, pattern); }

}  // namespace

// 49,867,145,216: huggingface.co/nvidia/Llama-3_3-Nemotron-Super-49B-v1, published total.
TEST_CASE("Nemotron Super's parameter count matches the tensor shapes of each layer", "[import][family]") {
  const Tensors all = together({ends(8192), attentions(49, 8192, 64), mlps(49, 8192, 28672), mlps(10, 8192, 7168),
                                mlps(8, 8192, 5632), mlps(6, 8192, 14336), mlps(6, 8192, 2816), mlps(1, 8192, 17920)});
  const Arch a = check_tensors(super, all, 49867145216);
  CHECK(a.layers == 80);
  CHECK(a.mixers.size() == 1);
  CHECK(a.mixers[0].is_empty());
  CHECK(a.mixers[0].layers.size() == 31);
  CHECK(cache_elements_per_token(a) == 49 * 2 * 8 * 128);
}

TEST_CASE("Nemotron Ultra's empty layers are skipped, and its MLPs have twelve different widths", "[import][family]") {
  std::vector<Tensors> all{ends(16384), attentions(64, 16384, 128)};
  for (const auto& [width, layers] : std::map<Count, Count>{{5376, 1},
                                                            {10752, 1},
                                                            {16128, 6},
                                                            {21504, 8 + 2},
                                                            {26624, 10 + 9},
                                                            {32000, 2},
                                                            {37376, 4},
                                                            {53248, 32 + 2},
                                                            {301056, 1},
                                                            {343040, 1},
                                                            {399360, 1},
                                                            {425984, 1}})
    all.push_back(mlps(layers, 16384, width));
  const Arch a = check_tensors(ultra, together(all), 253401268224);
  CHECK(a.layers == 162 - 81);
  CHECK(a.mlps.size() == 11);
  CHECK(cache_elements_per_token(a) == 64 * 2 * 8 * 128);
  const std::vector<std::string> notes = imported(ultra).caveats;
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::StartsWith("81 layers with neither attention nor MLP"));
}

TEST_CASE("Nemotron-NAS layers may differ in KV heads and lack attention or an MLP", "[import][family]") {
  const Arch a = arch(tiny({{'a', {2, 6}}, {'b', {4, 6}}, {'c', {8, 0}}, {'d', {0, 6}}}, "abcdab"));
  CHECK(a.kv_heads == 4);
  REQUIRE(a.mixers.size() == 3);
  CHECK(a.mixers[0].kv_heads == 2);
  CHECK(a.mixers[0].layers == layers({1, 5}));
  CHECK(a.mixers[1].kv_heads == 1);
  CHECK(a.mixers[2].layers == layers({3}));
  REQUIRE(a.mlps.size() == 1);
  CHECK(a.mlps[0] == LayerMlp{0, layers({2})});
  // Keys and values of width 8 per KV head: two layers with 4 KV heads, two with 2 and one with 1.
  CHECK(cache_elements_per_token(a) == 2 * 8 * (2 * 4 + 2 * 2 + 1));
}

TEST_CASE("a Nemotron-NAS MLP is 2/3 x factor x hidden wide, rounded up to 256, unless a width is stated",
          "[import][family]") {
  const auto width = [](double factor) { return arch(tiny({{'a', {8, factor}}}, "a")).mlp_width; };
  CHECK(width(6) == 256);    // 2 x 6 x 64 / 3 = 256
  CHECK(width(7) == 512);    // 298
  CHECK(width(0.1) == 256);  // 4
  std::string stated = tiny({{'a', {8, 6}}}, "a");
  stated.replace(stated.find("\"ffn_mult\""), 10, "\"intermediate_size\": 100, \"ffn_mult\"");
  CHECK(arch(stated).mlp_width == 100);
}

TEST_CASE("the error for an unsupported Nemotron-NAS block states the block's position", "[import][family]") {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = tiny({{'a', {8, 6}}}, "aa");
    text.replace(text.find(from), from.size(), to);
    return refusal(text);
  };
  CHECK(with(R"("replace_with_linear": false)", R"("replace_with_linear": true)") ==
        "c.json, \"block_configs\", entry 0, \"attention\": \"replace_with_linear\" is true; a linear layer in "
        "place of attention or an MLP is not supported");
  CHECK(
      with(R"("window_length": null)", R"("window_length": 4096)") ==
      "c.json, \"block_configs\", entry 0, \"attention\": \"window_length\" is not supported; expected null or false");
  CHECK(with(R"("n_heads_in_group": 8)", R"("n_heads_in_group": 3)") ==
        "c.json, \"block_configs\", entry 0, \"attention\": 8 heads cannot form groups of 3; \"n_heads_in_group\" must "
        "divide the heads");
  CHECK_THAT(with(R"("ffn_mult": 6.000000)", R"("ffn_mult": 0)"), Catch::Contains("expected a number above 0"));
  CHECK_THAT(with(R"("num_hidden_layers": 2)", R"("num_hidden_layers": 3)"),
             Catch::Contains("expected a list with one object per layer (3)"));
  CHECK_THAT(refusal(tiny({{'a', {0, 6}}}, "aa")), Catch::Contains("has no layer with attention"));
}
