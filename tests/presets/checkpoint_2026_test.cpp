// Checkpoints of 2026 families: tensor names with small shapes, and tensors outside the model.

#include "tests/presets/checkpoint_shapes.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using namespace llmcalc::test::shapes;

namespace {

/// Four experts of width 32, with the given router name.
Shapes four_experts(const std::string& before, const std::string& router) {
  Shapes all{{before + router + ".weight", {4, d}}};
  for (const char* number : {"0", "1", "2", "3"}) all = all + gated(before + "experts." + number + ".", 32);
  return all;
}

Shapes head_norms(const std::string& before) {
  return {{before + "q_norm.weight", {16}}, {before + "k_norm.weight", {16}}};
}

const std::vector<std::string> layer_names{"model.layers.0.", "model.layers.1."};
const std::initializer_list<const char*> two_norms{"input_layernorm", "post_attention_layernorm"};

json::Value experts_config(const std::string& type, json::Value more) {
  more.update({{"num_experts", 4}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 32}});
  return config(type, more);
}

}  // namespace

// tencent/Hy3: an MTP module is the layer after the model's last.
TEST_CASE("every tensor of a Hy3 checkpoint is counted, with a separate count for its MTP module",
          "[checkpoint][families]") {
  Shapes all = untied + gated("model.layers.0.mlp.");
  for (const std::string& layer : layer_names)
    all = all + norms(layer, two_norms) + attention(layer + "self_attn.") + head_norms(layer + "self_attn.");
  all = all + four_experts("model.layers.1.mlp.", "router.gate") + gated("model.layers.1.mlp.shared_mlp.", 32);
  const std::string module = "model.layers.2.";
  const Shapes beside = norms(module, two_norms) + norms(module, {"enorm", "hnorm", "final_layernorm"}) +
                        attention(module + "self_attn.") + head_norms(module + "self_attn.") +
                        four_experts(module + "mlp.", "router.gate") + gated(module + "mlp.shared_mlp.", 32) +
                        Shapes{{module + "eh_proj.weight", {d, 2 * d}}};
  const Shapes biases{{"model.layers.1.mlp.expert_bias", {4}}, {module + "mlp.expert_bias", {4}}};
  const json::Value hy3 = experts_config("hy_v3", {{"num_nextn_predict_layers", 1}, {"first_k_dense_replace", 1}});
  const ModelCard card = read(hy3, all + beside + biases);
  CHECK(parameters(card.arch).total == numbers(all));
  CHECK(mtp_parameters(card.arch).total == numbers(beside));
  CHECK(card.caveats == std::vector<std::string>());
}

// poolside/Laguna-XS.2
TEST_CASE("every tensor of a Laguna checkpoint is counted", "[checkpoint][families]") {
  Shapes all = untied + gated("model.layers.0.mlp.");
  for (const std::string& layer : layer_names) {
    const Count heads = layer == layer_names[0] ? 4 : 6;
    all = all + norms(layer, two_norms) + attention(layer + "self_attn.", heads) + head_norms(layer + "self_attn.") +
          Shapes{{layer + "self_attn.g_proj.weight", {heads, d}}};
  }
  all = all + four_experts("model.layers.1.mlp.", "gate") + gated("model.layers.1.mlp.shared_experts.", 32);
  const ModelCard card = read(experts_config("laguna", {{"num_attention_heads_per_layer", {4, 6}},
                                                        {"layer_types", {"full_attention", "sliding_attention"}},
                                                        {"sliding_window", 32},
                                                        {"gating", "per-head"},
                                                        {"mlp_layer_types", {"dense", "sparse"}},
                                                        {"shared_expert_intermediate_size", 32}}),
                              all + Shapes{{"model.layers.1.mlp.gate.e_score_correction_bias", {4}}});
  CHECK(parameters(card.arch).total == numbers(all));
  CHECK(card.caveats == std::vector<std::string>());
}

// CohereLabs' North Mini Code and ibm-granite/granite-swash-2b
TEST_CASE("every tensor of Cohere MoE checkpoints and of Granite checkpoints with sinks is counted",
          "[checkpoint][families]") {
  Shapes north = ends, granite = ends;
  for (const std::string& layer : layer_names) {
    north = north + norms(layer, {"input_layernorm"}) + attention(layer + "self_attn.") +
            four_experts(layer + "mlp.", "gate");
    granite = granite + norms(layer, two_norms) + attention(layer + "self_attn.") + gated(layer + "mlp.") +
              Shapes{{layer + "self_attn.sinks", {4}}};
  }
  check_read(config("cohere2_moe", {{"num_experts", 4},
                                    {"num_experts_per_tok", 2},
                                    {"intermediate_size", 32},
                                    {"tie_word_embeddings", true},
                                    {"rms_norm_eps", 1e-6}}),
             north);
  check_read(config("granite_swa", {{"sliding_window", 32}, {"tie_word_embeddings", true}}), granite);
}

// meta-models/Muse-Glimmer-30B, the text model, and karpathy/nanochat-d32
TEST_CASE("every tensor of Muse Glimmer and nanochat checkpoints is counted", "[checkpoint][families]") {
  Shapes muse = untied, nano{{"model.embed_tokens.weight", {V, d}}, {"lm_head.weight", {V, d}}};
  for (const std::string& layer : layer_names) {
    muse = muse +
           norms(layer, {"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                         "post_feedforward_layernorm"}) +
           attention(layer + "self_attn.") + gated(layer + "mlp.") +
           Shapes{{layer + "self_attn.gate_proj.weight", {64, d}}};
    nano = nano + attention(layer + "self_attn.") +
           Shapes{{layer + "mlp.fc1.weight", {f, d}}, {layer + "mlp.fc2.weight", {d, f}}};
  }
  check_read(config("muse_glimmer_text", {{"sliding_window", 32}}), muse);
  check_read(config("nanochat", {{"hidden_act", "relu2"}}), nano);
}

// jhu-clsp/ettin-decoder-150m
TEST_CASE("every tensor of a ModernBERT decoder checkpoint is counted", "[checkpoint][families]") {
  Shapes all{{"model.embeddings.tok_embeddings.weight", {V, d}},
             {"model.embeddings.norm.weight", {d}},
             {"model.final_norm.weight", {d}},
             {"model.layers.1.attn_norm.weight", {d}},
             {"lm_head.dense.weight", {d, d}},
             {"lm_head.norm.weight", {d}},
             {"decoder.bias", {V}}};
  for (const std::string& layer : layer_names)
    all = all + norms(layer, {"mlp_norm"}) +
          under(layer, {{"attn.q_proj.weight", {64, d}},
                        {"attn.k_proj.weight", {64, d}},
                        {"attn.v_proj.weight", {64, d}},
                        {"attn.Wo.weight", {d, 64}},
                        {"mlp.Wi.weight", {2 * f, d}},
                        {"mlp.Wo.weight", {d, f}}});
  json::Value modern = config("modernbert-decoder", {{"local_attention", 32}, {"tie_word_embeddings", true}});
  modern.erase("num_key_value_heads");
  check_read(modern, all);
}
