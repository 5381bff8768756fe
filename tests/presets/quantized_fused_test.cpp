// Matrices that a checkpoint stores as one are packed as one, so per-matrix overhead counts once.

#include <fmt/format.h>

#include <functional>

#include "calc/parameters.hpp"
#include "presets/formats/fused_matrices.hpp"
#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "tests/presets/quantised_blocks.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A matrix of (rows, columns), and its number of copies in the model.
struct PackedMatrix {
  Count rows, columns, copies;
};

/// Bytes of the model with these matrices packed and all else in 16 bits.
Count by_hand(const ModelCard& card, const std::vector<PackedMatrix>& all, Count (*packed)(Count rows, Count columns)) {
  Count bytes = 2 * parameters(card.arch).total;
  for (const PackedMatrix& m : all) bytes += m.copies * (packed(m.rows, m.columns) - 2 * m.rows * m.columns);
  return bytes;
}

ModelCard card_with(const std::string& block, const std::string& type, const std::string& more) {
  return imported(
      small(type, (more.empty() ? "" : more + ", ") + R"("torch_dtype": "bfloat16", "quantization_config": )" + block));
}

const std::string int4 = R"({"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"],
  "config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "strategy": "group",
  "group_size": 32, "symmetric": true}}}})";
/// Elements, a 16-bit scale per group of 32, and the shape.
Count int4_bytes(Count r, Count c) { return r * c / 2 + 2 * r * c / 32 + 16; }

const std::string fp8 = R"({"quant_method": "fp8", "weight_block_size": [128, 128]})";
Count fp8_bytes(Count r, Count c) { return r * c + 4 * ceil_div(r, 128) * ceil_div(c, 128); }

}  // namespace

// hf phi3: qkv_proj and gate_up_proj; glm4: gate_up_proj; gpt_neox and falcon: query_key_value; qwen2 has separate
// matrices.
TEST_CASE("a fused projection is quantized as a single matrix", "[quantized]") {
  const auto check = [&](const char* type, const std::string& more, const std::vector<PackedMatrix>& all) {
    INFO(type);
    const ModelCard card = card_with(int4, type, more);
    CHECK(bytes_of(card) == by_hand(card, all, int4_bytes));
  };
  check("phi3", "", {{96 + 2 * 32, 96, 8}, {96, 96, 8}, {512, 96, 8}, {96, 256, 8}});
  check("glm4", R"("head_dim": 16)", {{96, 96, 16}, {32, 96, 16}, {512, 96, 8}, {96, 256, 8}});
  check("gpt_neox", "", {{96 + 2 * 32, 96, 8}, {96, 96, 8}, {256, 96, 8}, {96, 256, 8}});
  check("falcon", R"("multi_query": true, "bias": false)",
        {{96 + 2 * 16, 96, 8}, {96, 96, 8}, {384, 96, 8}, {96, 384, 8}});
  check("qwen2", "", {{96, 96, 16}, {32, 96, 16}, {256, 96, 16}, {96, 256, 8}});
}

// hf qwen3_next: in_proj_qkvz and in_proj_ba, whose 8 rows are one row of blocks; hf qwen3_5: fused q, k and v, the
// others separate; hf olmo_hybrid: all separate.
TEST_CASE("a gated DeltaNet's matrices are fused according to its family", "[quantized]") {
  const std::string sizes = R"("linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 32,
    "linear_value_head_dim": 32, "head_dim": 16)";
  const std::string experts = R"(, "num_experts": 4, "moe_intermediate_size": 64, "num_experts_per_tok": 2,
    "shared_expert_intermediate_size": 64)";
  const std::vector<PackedMatrix> full{{2 * 96, 96, 2}, {32, 96, 4}, {96, 96, 2}}, out{{96, 128, 6}};
  const std::vector<PackedMatrix> moe{{64, 96, 8 * 5 * 2}, {96, 64, 8 * 5}}, mlp{{256, 96, 16}, {96, 256, 8}};
  const auto check = [](const char* type, const std::string& more,
                        const std::vector<std::vector<PackedMatrix>>& lists) {
    std::vector<PackedMatrix> all;
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
    INFO(type);
    const ModelCard card = card_with(int4, type, more);
    CHECK(bytes_of(card) == by_hand(card, all, int4_bytes));
    const ModelCard blocks = card_with(fp8, type, more);
    if (std::string(type) == "qwen3_next") CHECK(bytes_of(blocks) == by_hand(blocks, all, fp8_bytes));
  };
  check("qwen3_next", sizes + experts, {full, out, moe, {{2 * 64 + 2 * 128, 96, 6}, {8, 96, 6}}});
  check("qwen3_5_text", sizes, {full, out, mlp, {{2 * 64 + 128, 96, 6}, {128, 96, 6}, {4, 96, 12}}});
  check("olmo_hybrid", R"("linear_num_key_heads": 4, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
    "linear_value_head_dim": 32)",
        {{{96, 96, 4}, {32, 96, 4}}, out, mlp, {{64, 96, 12}, {128, 96, 12}, {4, 96, 12}}});
}

// hf afmoe: self_attn.gate_proj is a separate matrix, which quantization_config can exclude by name.
TEST_CASE("a separate gate matrix can be quantized or excluded independently", "[quantized]") {
  const std::string more = R"("head_dim": 16, "num_experts": 4, "moe_intermediate_size": 64, "num_experts_per_tok": 2,
    "num_shared_experts": 1, "num_dense_layers": 8)";
  const std::vector<PackedMatrix> others{{96, 96, 16}, {32, 96, 16}, {256, 96, 16}, {96, 256, 8}};
  std::vector<PackedMatrix> all = others;
  all.push_back({96, 96, 8});
  const ModelCard card = card_with(int4, "afmoe", more);
  CHECK(bytes_of(card) == by_hand(card, all, int4_bytes));
  std::string without = int4;
  without.replace(without.find("\"lm_head\""), 9, R"("lm_head", "re:.*self_attn.gate_proj")");
  CHECK(bytes_of(card_with(without, "afmoe", more)) == by_hand(card, others, int4_bytes));
}

TEST_CASE("families that are not listed as fused store every matrix separately", "[quantized]") {
  CHECK(fused_matrices("phi3").qkv);
  CHECK(fused_matrices("baichuan").split_in_gguf);
  for (const char* family : {"", "llama", "phi", "glm4_moe", "qwen2", " "}) {
    INFO(family);
    CHECK_FALSE(fused_matrices(family).qkv);
    CHECK_FALSE(fused_matrices(family).gate_up);
  }
}

// functional.quantize_4bit flattens a matrix: 96 rows of 48 elements are 72 blocks of 64, not 96.
TEST_CASE("quantization blocks of bitsandbytes continue across rows", "[quantized]") {
  const std::string nf4 = R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"})";
  const ModelCard card = card_with(nf4, "llama", R"("head_dim": 8)");
  const auto packed = [](Count r, Count c) {
    const std::string state =
        fmt::format(R"({{"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [{}, {}]}})", r, c);
    return r * c / 2 + 4 * ceil_div(r * c, 64) + 64 + static_cast<Count>(state.size());
  };
  CHECK(bytes_of(card) == by_hand(card, {{48, 96, 8}, {16, 96, 16}, {96, 48, 8}, {256, 96, 16}, {96, 256, 8}}, packed));
}

// compressed_tensors/utils/match.py, match_name: a name matches a single module.
TEST_CASE("a module name in compressed-tensors' ignore list does not match as a prefix", "[quantized]") {
  const auto bytes_without = [](const std::string& name) {
    std::string block = int4;
    block.replace(block.find("\"lm_head\""), 9, "\"lm_head\", \"" + name + "\"");
    return bytes_of(card_with(block, "llama", ""));
  };
  const Count all = bytes_of(card_with(int4, "llama", ""));
  CHECK(bytes_without("model.layers.3") == all);
  CHECK(bytes_without("model.layers.3.mlp") == all);
  CHECK(bytes_without("model.layers.3.self_attn.o_proj") == all + 2 * 96 * 96 - int4_bytes(96, 96));
  CHECK(bytes_without("re:.*layers.3.self_attn.o_proj") == all + 2 * 96 * 96 - int4_bytes(96, 96));
}

// nvidia/MiniMax-M3-NVFP4, hf_quant_config.json: the method is next to "quantization".
TEST_CASE("ModelOpt's separate quantization file may also state its method", "[quantized]") {
  const std::string inner =
      R"("quantization": {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"]})";
  CHECK(bytes_of(card_with("{\"quant_method\": \"modelopt\", " + inner + "}", "llama", "")) ==
        bytes_of(card_with("{" + inner + "}", "llama", "")));
}
