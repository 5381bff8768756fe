#include "presets/formats/fused_matrices.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace llmcalc {

namespace {

struct FusedFamilies {
  std::string_view families;  ///< model_types of the families, separated by spaces
  FusedMatrices matrices;
};

/// Sources: hf modeling_*.py of each family; hub Qwen-7B, MPT-7B, DBRX, nomic-bert, Baichuan, InternLM2, ChatGLM3, Ling
/// 2.0. llama.cpp's conversion splits the fused matrices of Baichuan, InternLM2 and Ling 1.5 (which has the model_type
/// of Ling 2.0).
constexpr std::array fusing_families{
    FusedFamilies{
        "gpt2 gpt-sw3 gpt_bigcode openai-gpt gpt_neox codegen persimmon falcon RefinedWeb RefinedWebModel bloom mpt "
        "qwen dbrx nomic_bert",
        {.qkv = true}},
    FusedFamilies{"phi3 phi3_v phi4_multimodal phi4mm chatglm modernbert plamo2 plamo3",
                  {.qkv = true, .gate_up = true}},
    FusedFamilies{"glm glm4 glm4v_text glm_ocr_text granitemoehybrid granitemoeshared", {.gate_up = true}},
    FusedFamilies{"baichuan internlm2", {.qkv = true, .split_in_gguf = true}},
    FusedFamilies{"bailing_moe bailing_moe_v2 bailing_moe_linear bailing_hybrid bailing_moe_v2_5 sarvam_moe llada2_moe",
                  {.qkv = true, .lightning_qkv = true}},
    FusedFamilies{"minimax minimax_text_01 minimax_m1", {.lightning_qkv = true}},
    FusedFamilies{"afmoe minicpm_sala muse_glimmer_text laguna", {.own_gate = true}},
    FusedFamilies{"qwen3_next", {.delta = DeltaMatrices::with_gate}},
    FusedFamilies{"olmo_hybrid", {.delta = DeltaMatrices::apart}}};

}  // namespace

FusedMatrices fused_matrices(std::string_view family) {
  const std::string word = fmt::format(" {} ", family);
  for (const FusedFamilies& row : fusing_families)
    if (fmt::format(" {} ", row.families).find(word) != std::string::npos) return row.matrices;
  return {};
}

}  // namespace llmcalc
