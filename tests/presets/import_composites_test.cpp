// Composite configs, which contain a text model as one part.

#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// Keys in any Llama-like text model.
const std::string text_keys = R"("hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6,
  "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 1000)";

/// A layer of Qwen 2 or Phi-3: grouped attention, optional biases on q, k, v, a gated MLP.
Tensors layer(Count hidden, Count heads, Count kv_heads, Count width, bool biases) {
  const Count d = 128;
  return together({projections(hidden, heads, kv_heads, d),
                   gated_mlp("mlp", hidden, width),
                   {{"norms", {hidden}, 2}, {"biases", {(heads + 2 * kv_heads) * d}, biases ? 1 : 0}}});
}

// OpenGVLab/InternVL3-8B, its language model
const std::string internvl = R"({"architectures": ["InternVLChatModel"], "model_type": "internvl_chat",
  "downsample_ratio": 0.5, "dynamic_image_size": true, "select_layer": -1, "use_backbone_lora": 0, "use_llm_lora": 0,
  "llm_config": {"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "hidden_act": "silu",
  "hidden_size": 3584, "intermediate_size": 18944, "max_position_embeddings": 32768, "max_window_layers": 70,
  "model_type": "qwen2", "moe_config": null, "num_attention_heads": 28, "num_hidden_layers": 28,
  "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "sliding_window": null, "tie_word_embeddings": false,
  "use_sliding_window": false, "vocab_size": 151674}, "vision_config": {"hidden_size": 1024}})";

// microsoft/Phi-4-multimodal-instruct
const std::string phi4mm = R"({"architectures": ["Phi4MMForCausalLM"], "attention_bias": false,
  "audio_processor": {"config": {"activation": "swish", "attention_dim": 1024, "attention_heads": 16,
  "batch_norm": false, "bias_in_glu": true, "causal": true, "chunk_size": -1, "cnn_layer_norm": true,
  "conv_activation": "swish", "conv_glu_type": "swish", "depthwise_multiplier": 1,
  "depthwise_seperable_out_channel": 1024, "dropout_rate": 0.0, "encoder_embedding_config": {"input_size": 80},
  "ext_pw_kernel_size": 1, "ext_pw_out_channel": 1024, "input_layer": "nemo_conv", "input_size": 80,
  "kernel_size": 3, "left_chunk": 18, "linear_units": 1536, "nemo_conv_settings": {"conv_channels": 1024},
  "num_blocks": 24, "relative_attention_bias_args": {"t5_bias_max_distance": 500, "type": "t5"},
  "time_reduction": 8}, "name": "cascades"}, "embd_layer": {"embedding_cls": "image_audio"}, "full_attn_mod": 1,
  "hidden_act": "silu", "hidden_size": 3072, "img_processor": null, "intermediate_size": 8192,
  "interpolate_factor": 1, "lm_head_bias": false, "max_position_embeddings": 131072, "mlp_bias": false,
  "model_type": "phi4mm", "num_attention_heads": 24, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.75, "rms_norm_eps": 1e-05,
  "sliding_window": 262144, "speech_lora": {"dp": 0.01, "r": 320}, "tie_word_embeddings": true,
  "vision_lora": {"dp": 0.0, "r": 256}, "vocab_size": 200064})";

// baidu/ERNIE-4.5-VL-28B-A3B-PT
const std::string ernie = R"({"architectures": ["Ernie4_5_VLMoeForConditionalGeneration"], "hidden_act": "silu",
  "hidden_size": 2560, "intermediate_size": 12288, "max_position_embeddings": 131072,
  "model_type": "ernie4_5_moe_vl", "moe_capacity": [128, 128, 128], "moe_gate": "topk",
  "moe_intermediate_size": [1536, 512], "moe_k": 6, "moe_layer_end_index": [29, 28], "moe_layer_interval": 1,
  "moe_layer_start_index": [1, 1], "moe_num_experts": [64, 64], "moe_num_shared_experts": 2,
  "moe_use_aux_free": true, "num_attention_heads": 20, "num_hidden_layers": 28, "num_key_value_heads": 4,
  "rms_norm_eps": 1e-05, "tie_word_embeddings": true, "use_bias": false, "vision_config": {"depth": 32},
  "vocab_size": 103424})";

}  // namespace

TEST_CASE("the text model of a composite config is read, with a caveat for other parts", "[import]") {
  const std::string text = R"({"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 6, "head_dim": 16,
    "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 1000})";
  const auto wrapped = [&](const std::string& type) {
    return imported(R"({"model_type": ")" + type + R"(", "text_config": )" + text + "}");
  };
  CHECK(wrapped("gemma3").arch.qk_norm == QkNorm::per_head);
  CHECK(wrapped("gemma3").caveats[0] == "text part only: vision and audio encoders are not counted");
  // gemma3_text's defaults: 131072 positions, a window of 4096 in five of six layers.
  CHECK_THAT(wrapped("gemma3").caveats[1],
             Catch::Contains("the family's defaults are used: max_position_embeddings 131072"));
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

TEST_CASE("InternVL's language model is read from its llm_config", "[import][family]") {
  check_tensors(internvl,
                together({in_layers(28, layer(3584, 28, 4, 18944, true)),
                          {{"embed_tokens", {151674, 3584}}, {"lm_head", {151674, 3584}}, {"norm", {3584}}}}),
                7612820992);
  CHECK_THAT(imported(internvl).caveats.front(), Catch::Contains("\"vision_config\" omits some sizes"));
  CHECK_THAT(refusal(R"({"model_type": "internvl_chat", "llm_config": {"model_type": "internlm9"}})"),
             Catch::Contains("c.json, \"llm_config\": model_type \"internlm9\" is not supported"));
}

TEST_CASE("Phi-4 multimodal's text model matches its tensor shapes; encoders and adapters count separately",
          "[import][family]") {
  check_tensors(
      phi4mm,
      together({in_layers(32, layer(3072, 24, 8, 8192, false)), {{"embed_tokens", {200064, 3072}}, {"norm", {3072}}}}),
      3836021760);
  const MediaEncoders t = imported(phi4mm).media_encoders;
  CHECK(t.vision == 428565440);                     // SigLIP so400m at 448, 27 layers, with head
  const Count adapters = (256 + 320) * 32 * 45056;  // in + out of four matrices: 8192, 6144, 19456, 11264
  const Count matrices = 3 * 3072 * (3072 + 1) + (1152 + 2 * 1024 + 3) * 3072 + 2 * 1152;
  CHECK(t.projector == adapters + matrices);
  CHECK(3836021760 + t.total() == 5574460384);  // huggingface.co/microsoft/Phi-4-multimodal-instruct, published total
  CHECK_THAT(imported(phi4mm).caveats.front(), Catch::Contains("which have 830472192 parameters"));
  std::string other = phi4mm;
  other.replace(other.find("\"config\": {\"activation\""), 8, "\"setting\"");
  CHECK(imported(other).caveats.front() == "text part only: vision and audio encoders are not counted");
  CHECK_FALSE(arch(small("phi4_multimodal", "")).tied_head);
}

// 4146621440: the published total of microsoft/Phi-3.5-vision-instruct.
TEST_CASE("Phi-3.5 vision imports as Phi-3 with a CLIP encoder whose sizes come from the model's code",
          "[import][family]") {
  const std::string phi3_v = R"({"architectures": ["Phi3VForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
    "embd_layer": {"embedding_cls": "image", "hd_transform_order": "sub_glb", "projection_cls": "mlp",
    "use_hd_transform": true, "with_learnable_separator": true}, "hidden_act": "silu", "hidden_size": 3072,
    "img_processor": {"image_dim_out": 1024, "model_name": "openai/clip-vit-large-patch14-336",
    "name": "clip_vision_model", "num_img_tokens": 144}, "intermediate_size": 8192,
    "max_position_embeddings": 131072, "model_type": "phi3_v", "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 32, "original_max_position_embeddings": 4096, "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0, "sliding_window": 262144, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    "vocab_size": 32064})";
  check_tensors(
      phi3_v,
      together(
          {in_layers(32,
                     together({projections(3072, 32, 32, 96), gated_mlp("mlp", 3072, 8192), {{"norms", {3072}, 2}}})),
           {{"embed_tokens", {32064, 3072}}, {"lm_head", {32064, 3072}}, {"norm", {3072}}}}),
      3821079552);
  const ModelCard card = imported(phi3_v);
  CHECK(card.media_encoders.vision == 303507456);  // as counted for LLaVA 1.5 in towers.json
  CHECK(card.media_encoders.projector == 4096 * 3072 + 3072 * 3072 + 2 * 3072 + 2 * 4096);
  CHECK(3821079552 + card.media_encoders.total() == 4146621440);
  CHECK(card.caveats == std::vector<std::string>());
  std::string other = phi3_v;
  other.replace(other.find("patch14-336"), 11, "patch14-224");
  CHECK(imported(other).caveats.front() == "text part only: vision and audio encoders are not counted");
}

TEST_CASE("ERNIE 4.5 VL has text experts in the model, and image experts and an encoder outside it",
          "[import][family][towers]") {
  const Tensors experts = together(
      {gated_mlp("experts", 2560, 1536, 64), gated_mlp("shared_experts", 2560, 2 * 1536), {{"gate", {64, 2560}}}});
  const Arch a =
      check_tensors(ernie,
                    together({in_layers(28, together({projections(2560, 20, 4, 128), {{"norms", {2560}, 2}}})),
                              in_layers(27, experts),
                              gated_mlp("layers.0.mlp", 2560, 12288),
                              {{"embed_tokens", {103424, 2560}}, {"norm", {2560}}}}),
                    21825436160);
  CHECK(a.moe.layers == LayerSet::every(1, 1, 28));
  const MediaEncoders t = imported(ernie).media_encoders;
  // 27 layers with a router and 64 experts of width 512: with text, 28624632320 (hf ernie4_5_vl_moe).
  CHECK(t.cross == Count{27} * 64 * (3 * 2560 * 512 + 2560));
  CHECK(21825436160 + t.cross == 28624632320);
  constexpr Count v = 1280, block = 4 * (v * v + v) + 2 * 4 * v * v + 5 * v + 4 * v;
  CHECK(t.vision == 3 * 14 * 14 * v + 32 * block + 2 * v);
  constexpr Count merged = 4 * v, square = merged * merged + merged;  // 2 x 2 patches, then 2 of the resulting frames
  CHECK(t.projector == 3 * square + 2 * merged * merged + merged + 4 * merged + merged * 2560 + 2 * 2560);
  for (const std::string& caveat : imported(ernie).caveats) CHECK(caveat.find("not counted") == std::string::npos);
  std::string alone = ernie;  // without a vision encoder
  alone.replace(alone.find(R"("vision_config": {"depth": 32},)"), 31, "");
  CHECK(imported(alone).media_encoders == MediaEncoders());
  CHECK(imported(alone).caveats.front() == "text experts only: image experts in the same layers are not counted");
  std::string one = ernie;
  one.replace(one.find("[1536, 512]"), 11, "[1536]");
  CHECK_THAT(refusal(one), Catch::Contains("a number for text and one for images, got only one"));
  const std::string nested = R"({"model_type": "ernie4_5_vl_moe", "text_config": {)" + text_keys +
                             R"(, "moe_intermediate_size": [64, 32], "mlp_layer_types": ["dense", "sparse"]}})";
  CHECK(arch(nested).moe.width == 64);
  CHECK(arch(nested).moe.layers == layers({1}));
  const std::string seeing = nested.substr(0, nested.size() - 1) + R"(, "vision_config": {}})";
  CHECK(imported(seeing).media_encoders.cross == 64 * (3 * 96 * 32 + 96));  // one layer
}

TEST_CASE("GLM-OCR's text model imports as GLM-4 without biases, and PaddleOCR-VL's as ERNIE 4.5", "[import]") {
  const Arch glm = arch(R"({"model_type": "glm_ocr", "text_config": {)" + text_keys + "}}");
  CHECK(glm.norm_placement == NormPlacement::both);
  CHECK_FALSE(glm.qkv_bias);
  CHECK(glm.head_dim == 96 / 6);
  CHECK(arch(R"({"model_type": "paddleocr_vl", "text_config": {)" + text_keys + "}}").tied_head);
}

TEST_CASE("an omni model's text model is read from the text_config inside its thinker_config", "[import]") {
  const std::string omni = R"({"model_type": "qwen2_5_omni", "thinker_config": {"model_type": "qwen2_5_omni_thinker",
    "text_config": {"model_type": "qwen2_5_omni_text", )" +
                           text_keys + "}}}";
  CHECK(arch(omni).qkv_bias);
  CHECK(arch(omni).layers == 2);
  CHECK(refusal(R"({"model_type": "qwen2_5_omni", "thinker_config": {"model_type": "x"}})") ==
        "c.json: \"text_config\" is not an object; expected the text model's config");
}

TEST_CASE("a composite config without a text model type uses the default type of its class", "[import]") {
  const auto inner = [](const std::string& outer, const char* key) {
    return arch(R"({"model_type": ")" + outer + "\", \"" + key + "\": {" + text_keys + "}}");
  };
  CHECK_FALSE(inner("idefics3", "text_config").qkv_bias);
  CHECK(inner("llava_onevision", "text_config").qkv_bias);
  CHECK(inner("cohere2_vision", "text_config").block == BlockKind::parallel);
  CHECK(inner("lfm2_vl", "text_config").qk_norm == QkNorm::per_head);
}

TEST_CASE("DeepSeek's language models without latent attention use Llama's attention", "[import]") {
  const Arch a = arch(R"({"model_type": "deepseek_vl_v2", "language_config": {)" + text_keys +
                      R"(, "use_mla": false, "num_experts_per_tok": 2, "n_routed_experts": 4}})");
  CHECK(a.attention == AttentionKind::grouped);
  CHECK(a.head_dim == 96 / 6);
  CHECK(a.moe.experts == 4);
}
