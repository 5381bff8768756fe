// Dense families: published configs, with parameters counted from the shapes of their modules.

#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// google/vaultgemma-1b
const std::string vaultgemma = R"({"architectures": ["VaultGemmaForCausalLM"], "attention_bias": false,
  "attention_dropout": 0.0, "attn_logit_softcapping": null, "final_logit_softcapping": null, "head_dim": 256,
  "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152, "initializer_range": 0.02,
  "intermediate_size": 6912, "max_position_embeddings": 1024, "model_type": "vaultgemma", "num_attention_heads": 4,
  "num_hidden_layers": 26, "num_key_value_heads": 4, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06,
  "rope_theta": 10000.0, "sliding_window": 512, "vocab_size": 256000})";

// tencent/Youtu-LLM-2B
const std::string youtu = R"({"architectures": ["YoutuForCausalLM"], "attention_bias": false, "hidden_act": "silu",
  "hidden_size": 2048, "intermediate_size": 6144, "kv_lora_rank": 512, "max_position_embeddings": 131072,
  "mlp_bias": false, "model_type": "youtu", "num_attention_heads": 16, "num_hidden_layers": 32,
  "num_key_value_heads": 16, "q_lora_rank": 1536, "qk_head_dim": 192, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_interleave": true,
  "rope_parameters": {"rope_theta": 1600000, "rope_type": "default"}, "tie_word_embeddings": true,
  "v_head_dim": 128, "vocab_size": 128256})";

// microsoft/bitnet-b1.58-2B-4T, without its quantization block
const std::string bitnet = R"({"architectures": ["BitNetForCausalLM"], "bos_token_id": 128000, "eos_token_id": 128001,
  "hidden_act": "relu2", "hidden_size": 2560, "initializer_range": 0.02, "intermediate_size": 6912,
  "max_position_embeddings": 4096, "model_type": "bitnet", "rms_norm_eps": 1e-05, "num_attention_heads": 20,
  "num_hidden_layers": 30, "num_key_value_heads": 5, "rope_theta": 500000.0, "tie_word_embeddings": true,
  "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256})";

// pfnet/plamo-13b
const std::string plamo = R"({"architectures": ["PlamoForCausalLM"], "bos_token_id": 1, "eos_token_id": 2,
  "hidden_size": 5120, "intermediate_size": 16640, "max_position_embeddings": 4096, "model_type": "plamo",
  "n_shared_head": 8, "num_attention_heads": 40, "num_hidden_layers": 40, "num_key_value_heads": 40,
  "pad_token_id": 3, "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "tokenizer_class": "PlamoTokenizer",
  "torch_dtype": "float32", "use_cache": true, "vocab_size": 50432})";

// GSAI-ML/LLaDA-8B-Instruct
const std::string llada = R"({"activation_type": "silu", "alibi": false, "alibi_bias_max": 8.0,
  "architectures": ["LLaDAModelLM"], "attention_dropout": 0.0, "attention_layer_norm": false,
  "attention_layer_norm_with_affine": true, "bias_for_layer_norm": false, "block_group_size": 1,
  "block_type": "llama", "d_model": 4096, "embedding_dropout": 0.0, "embedding_size": 126464, "eos_token_id": 126081,
  "flash_attention": false, "include_bias": false, "include_qkv_bias": false, "init_cutoff_factor": null,
  "init_device": "meta", "init_fn": "mitchell", "init_std": 0.02, "input_emb_norm": false, "layer_norm_type": "rms",
  "layer_norm_with_affine": true, "mask_token_id": 126336, "max_sequence_length": 4096, "mlp_hidden_size": 12288,
  "mlp_ratio": 4, "model_type": "llada", "multi_query_attention": null, "n_heads": 32, "n_kv_heads": 32,
  "n_layers": 32, "pad_token_id": 126081, "precision": "amp_bf16", "residual_dropout": 0.0, "rms_norm_eps": 1e-05,
  "rope": true, "rope_full_precision": true, "rope_theta": 500000.0, "scale_logits": false, "use_cache": false,
  "vocab_size": 126464, "weight_tying": false})";

// Dream-org/Dream-v0-Instruct-7B
const std::string dream = R"({"architectures": ["DreamModel"], "attention_dropout": 0.0, "hidden_act": "silu",
  "hidden_size": 3584, "initializer_range": 0.02, "intermediate_size": 18944, "mask_token_id": 151666,
  "max_position_embeddings": 131072, "max_window_layers": 28, "model_type": "Dream", "num_attention_heads": 28,
  "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_scaling": null,
  "rope_theta": 1000000.0, "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "use_cache": true, "use_mrope": false, "use_sliding_window": false, "vocab_size": 152064})";

/// One half (encoder or decoder) of google/t5gemma-2b-2b-ul2; each half is Gemma 2 2B. `more`: additional keys.
std::string half(const std::string& more = "") {
  return R"({"attention_bias": false, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304,
    "intermediate_size": 9216, "max_position_embeddings": 8192, "model_type": "t5_gemma_module",
    "num_attention_heads": 8, "num_hidden_layers": 26, "num_key_value_heads": 4, "sliding_window": 4096,
    "vocab_size": 256000)" +
         more + "}";
}
std::string t5gemma(const std::string& decoder, const std::string& more = R"("is_encoder_decoder": true)") {
  return R"({"architectures": ["T5GemmaForConditionalGeneration"], "model_type": "t5gemma", "vocab_size": 256000,
    "encoder": )" +
         half() + R"(, "decoder": )" + decoder + ", " + more + "}";
}

/// A layer of grouped attention and a gated MLP with two norms.
Tensors layer(Count hidden, Count heads, Count kv_heads, Count head_dim, Count width) {
  return together(
      {projections(hidden, heads, kv_heads, head_dim), gated_mlp("mlp", hidden, width), {{"norms", {hidden}, 2}}});
}

}  // namespace

TEST_CASE("VaultGemma's parameter count matches its tensor shapes, with two norms per layer", "[import][family]") {
  const Arch a = check_tensors(
      vaultgemma,
      together({in_layers(26, layer(1152, 4, 4, 256, 6912)), {{"embed_tokens", {256000, 1152}}, {"norm", {1152}}}}),
      1038741120);
  CHECK(a.tied_head);
  CHECK(a.local == LocalAttention{{512}, LayerSet::every(0, 2, 26)});
  CHECK(a.activation == Activation::gelu_tanh);
  CHECK(arch(small("gemma2", "")).norms_per_layer == 4);  // its layers have two more norms
}

TEST_CASE("Youtu-LLM's parameter count matches its tensor shapes, with latent attention and dense MLPs",
          "[import][family]") {
  const Tensors each = {{"q_a_proj", {1536, 2048}},     {"q_a_layernorm", {1536}},
                        {"q_b_proj", {16 * 192, 1536}}, {"kv_a_proj_with_mqa", {512 + 64, 2048}},
                        {"kv_a_layernorm", {512}},      {"kv_b_proj", {16 * (128 + 128), 512}},
                        {"o_proj", {2048, 16 * 128}},   {"norms", {2048}, 2}};
  const Arch a = check_tensors(youtu,
                               together({in_layers(32, together({each, gated_mlp("mlp", 2048, 6144)})),
                                         {{"embed_tokens", {128256, 2048}}, {"norm", {2048}}}}),
                               1961560064);
  CHECK(cache_elements_per_token(a) == 32 * (512 + 64));
  CHECK_FALSE(a.has_experts());
}

TEST_CASE("PLaMo's parameter count matches its tensor shapes, with one norm per layer", "[import][family]") {
  const Tensors each = together({projections(5120, 40, 5, 128), gated_mlp("mlp", 5120, 16640), {{"norm", {5120}}}});
  const Arch a = check_tensors(
      plamo,
      together({in_layers(40, each), {{"embed_tokens", {50432, 5120}}, {"lm_head", {50432, 5120}}, {"norm", {5120}}}}),
      13099545600);
  CHECK(a.block == BlockKind::parallel);
  CHECK(cache_elements_per_token(a) == 40 * 2 * 5 * 128);
  CHECK_THAT(refusal(small("plamo", R"("n_shared_head": 4)")), Catch::Contains("multiple of \"n_shared_head\""));
}

// 8015581184 and 7615616512: the published totals of the two checkpoints.
TEST_CASE("masked diffusion models are imported as bidirectional Llama and Qwen 2 models", "[import][family]") {
  const auto ends = [](Count vocabulary, Count hidden) {
    return Tensors{{"wte", {vocabulary, hidden}}, {"ff_out", {vocabulary, hidden}}, {"ln_f", {hidden}}};
  };
  const Arch a =
      check_tensors(llada, together({in_layers(32, layer(4096, 32, 32, 128, 12288)), ends(126464, 4096)}), 8015581184);
  CHECK(a.is_encoder());
  CHECK(cache_elements_per_token(a) == 0);
  CHECK(a.context == 4096);
  const Tensors biases = {{"q bias", {3584}}, {"k, v biases", {512}, 2}};
  const Arch b = check_tensors(
      dream, together({in_layers(28, together({layer(3584, 28, 4, 128, 18944), biases})), ends(152064, 3584)}),
      7615616512);
  CHECK(b.is_encoder());
  CHECK(b.head == ModelHead{});
  CHECK(arch(small("Dream", R"("architectures": ["DreamForTokenClassification"], "tie_word_embeddings": true)")).head ==
        ModelHead{.kind = HeadKind::none});
  CHECK_THAT(refusal(small("llada", R"("attention_layer_norm": true)")), Catch::Contains("which is not supported"));
  CHECK_THAT(refusal(small("llada", R"("block_type": "sequential")")), Catch::Contains("only llama is supported"));
}

TEST_CASE("T5Gemma's parameter count matches the tensor shapes of its encoder and decoder", "[import][family]") {
  const Tensors own = together({layer(2304, 8, 4, 256, 9216), {{"post_layernorms", {2304}, 2}}});
  const Tensors cross = together({projections(2304, 8, 4, 256), {{"cross_attn_layernorms", {2304}, 2}}});
  const Tensors all = together({in_layers(26, own),
                                in_layers(26, together({own, cross})),
                                {{"encoder.embed_tokens", {256000, 2304}},
                                 {"decoder.embed_tokens", {256000, 2304}},
                                 {"encoder.norm", {2304}},
                                 {"decoder.norm", {2304}}}});
  const Arch a = check_tensors(t5gemma(half()), all, 5596853760);
  CHECK(a.is_encoder_decoder());
  CHECK(a.layers == 52);
  CHECK(a.local == LocalAttention());  // 4096 tokens on each side cover the context
  CHECK(a.mixers[1].reach == Reach{4096, false});
  CHECK(a.mixers[1].layers == LayerSet::every(26, 2, 52));
  const Arch alone = arch(t5gemma(half(), R"("is_encoder_decoder": false)"));
  CHECK(alone.is_encoder());
  CHECK(parameters(alone).total == 2614341888);  // as in Gemma 2 2B
  const std::string narrow = R"({"hidden_size": 1152, "num_attention_heads": 4, "num_hidden_layers": 26,
    "intermediate_size": 6912, "vocab_size": 256000})";
  CHECK_THAT(refusal(t5gemma(narrow)), Catch::Contains("these must be equal"));
  CHECK_THAT(refusal(R"({"model_type": "t5gemma"})"), Catch::Contains("\"encoder\" is missing"));
}

TEST_CASE("parameter counts of CWM, Helium and Jais 2 match their tensor shapes", "[import][family]") {
  const auto ends = [](Count vocabulary, Count hidden) {
    return Tensors{{"embed_tokens", {vocabulary, hidden}}, {"lm_head", {vocabulary, hidden}}, {"norm", {hidden}}};
  };
  // facebook/cwm
  const Arch cwm =
      check_tensors(R"({"architectures": ["CwmForCausalLM"], "head_dim": 128, "hidden_act": "silu",
      "hidden_size": 6144, "intermediate_size": 21504, "max_position_embeddings": 131072, "model_type": "cwm",
      "num_attention_heads": 48, "num_hidden_layers": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
      "sliding_window": 8192, "tie_word_embeddings": false, "vocab_size": 128256})",
                    together({in_layers(64, layer(6144, 48, 8, 128, 21504)), ends(128256, 6144)}), 32581097472);
  CHECK(cwm.local.reach == Reach{8192, false});
  CHECK(cwm.local.layers == others_of(64, {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60}));
  // kyutai/helium-1-preview-2b
  check_tensors(R"({"architectures": ["HeliumForCausalLM"], "attention_bias": false, "head_dim": 128,
      "hidden_act": "silu", "hidden_size": 2560, "intermediate_size": 7040, "max_position_embeddings": 4096,
      "mlp_bias": false, "model_type": "helium", "num_attention_heads": 20, "num_hidden_layers": 24,
      "num_key_value_heads": 20, "rms_norm_eps": 1e-08, "rope_theta": 100000.0, "tie_word_embeddings": false,
      "vocab_size": 48000})",
                together({in_layers(24, layer(2560, 20, 20, 128, 7040)), ends(48000, 2560)}), 2172643840);
  CHECK_FALSE(arch(small("helium", R"("attention_bias": true)")).attention_out_bias);
  const Tensors each = together({projections(3328, 26, 26, 128),
                                 {{"attention biases", {3328}, 4},
                                  {"up_proj", {26624, 3328}},
                                  {"up_proj.bias", {26624}},
                                  {"down_proj", {3328, 26624}},
                                  {"down_proj.bias", {3328}},
                                  {"layernorms", {3328}, 4}}});
  const Arch jais =
      check_tensors(R"({"architectures": ["Jais2ForCausalLM"], "attention_bias": true,
      "hidden_act": "relu2", "hidden_size": 3328, "intermediate_size": 26624, "layer_norm_eps": 1e-05,
      "max_position_embeddings": 8192, "mlp_bias": true, "model_type": "jais2", "num_attention_heads": 26,
      "num_hidden_layers": 32, "num_key_value_heads": 26, "tie_word_embeddings": false, "vocab_size": 150272})",
                    together({in_layers(32, each), ends(150272, 3328), {{"norm.bias", {3328}}}}), 8090401280);
  CHECK(jais.activation == Activation::relu_squared);
}

// 2412820480: all tensors of microsoft/bitnet-b1.58-2B-4T-bf16.
TEST_CASE("BitNet's parameter count matches its tensor shapes, with norms before the output projections",
          "[import][family]") {
  const Tensors each = together({layer(2560, 20, 5, 128, 6912), {{"attn_sub_norm", {2560}}, {"ffn_sub_norm", {6912}}}});
  const Arch a = check_tensors(
      bitnet, together({in_layers(30, each), {{"embed_tokens", {128256, 2560}}, {"norm", {2560}}}}), 2412820480);
  CHECK(a.activation == Activation::relu_squared);
  CHECK(a.mlp == MlpKind::gated);
  CHECK(a.tied_head);
}

namespace {
/// A GPT-2 layer: biases everywhere, two LayerNorms.
Tensors gpt_layer(Count hidden, Count width) {
  return {{"q, k, v, out_proj", {hidden, hidden}, 4},
          {"their biases", {hidden}, 4},
          {"fc1", {width, hidden}},
          {"fc1.bias", {width}},
          {"fc2", {hidden, width}},
          {"fc2.bias", {hidden}},
          {"norms and biases", {hidden}, 4}};
}
}  // namespace

// microsoft/biogpt, facebook/xglm-564M, Salesforce/ctrl
TEST_CASE("parameter counts of BioGPT, XGLM and CTRL match their tensor shapes", "[import][family]") {
  check_tensors(R"({"model_type": "biogpt", "vocab_size": 42384, "hidden_size": 1024, "num_hidden_layers": 24,
    "num_attention_heads": 16, "intermediate_size": 4096, "hidden_act": "gelu", "max_position_embeddings": 1024,
    "layerdrop": 0.0, "scale_embedding": true})",
                together({in_layers(24, gpt_layer(1024, 4096)),
                          {{"table", {42384, 1024}}, {"positions", {1026, 1024}}, {"norm and bias", {1024}, 2}}}),
                346763264);
  const Arch xglm = check_tensors(
      R"({"model_type": "xglm", "vocab_size": 256008, "d_model": 1024, "num_layers": 24, "attention_heads": 16,
    "ffn_dim": 4096, "activation_function": "gelu", "max_position_embeddings": 2048, "scale_embedding": true})",
      together({in_layers(24, gpt_layer(1024, 4096)), {{"table", {256008, 1024}}, {"norm and bias", {1024}, 2}}}),
      564463616);
  CHECK(xglm.position == Position::sinusoidal);
  const Arch ctrl = check_tensors(
      R"({"model_type": "ctrl", "vocab_size": 246534, "n_embd": 1280, "n_layer": 48, "n_head": 16, "dff": 8192,
    "n_positions": 50000, "layer_norm_epsilon": 1e-06})",
      together({in_layers(48, gpt_layer(1280, 8192)),
                {{"table", {246534, 1280}}, {"lm_head.bias", {246534}}, {"norm and bias", {1280}, 2}}}),
      1637964550);
  CHECK(ctrl.activation == Activation::relu);
}
