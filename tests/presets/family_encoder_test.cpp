// Encoder families: published configs, with parameters counted from the shapes of their modules.

#include "tests/presets/tensor_list.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

// EuroBERT/EuroBERT-210m
std::string eurobert(const std::string& architecture) {
  return R"({"architectures": [")" + architecture + R"("], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "clf_pooling": "late", "eos_token_id": 128001, "hidden_act": "silu", "hidden_dropout": 0.0,
    "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "mask_token_id": 128002,
    "max_position_embeddings": 8192, "mlp_bias": false, "model_type": "eurobert", "num_attention_heads": 12,
    "num_hidden_layers": 12, "num_key_value_heads": 12, "pad_token_id": 128001, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 250000, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16", "use_cache": false, "vocab_size": 128256})";
}

// nomic-ai/nomic-embed-text-v1.5
std::string nomic(const std::string& architecture, const std::string& more = "") {
  return R"({"activation_function": "swiglu", "architectures": [")" + architecture + R"("], "attn_pdrop": 0.0,
    "bos_token_id": null, "causal": false, "dense_seq_output": true, "embd_pdrop": 0.0, "eos_token_id": null,
    "fused_bias_fc": true, "fused_dropout_add_ln": true, "initializer_range": 0.02, "layer_norm_epsilon": 1e-12,
    "max_trained_positions": 2048, "mlp_fc1_bias": false, "mlp_fc2_bias": false, "model_type": "nomic_bert",
    "n_embd": 768, "n_head": 12, "n_inner": 3072, "n_layer": 12, "n_positions": 8192, "pad_vocab_size_multiple": 64,
    "parallel_block": false, "parallel_block_tied_norm": false, "prenorm": false, "qkv_proj_bias": false,
    "reorder_and_upcast_attn": false, "resid_pdrop": 0.0, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": false, "rotary_emb_scale_base": null, "rotary_scaling_factor": null,
    "scale_attn_by_inverse_layer_idx": false, "scale_attn_weights": true, "summary_activation": null,
    "summary_first_dropout": 0.0, "summary_proj_to_labels": true, "summary_type": "cls_index",
    "summary_use_proj": true, "type_vocab_size": 2, "use_cache": true, "use_flash_attn": true, "use_rms_norm": false,
    "use_xentropy": true, "vocab_size": 30528)" +
         more + "}";
}

// Alibaba-NLP/gte-large-en-v1.5
std::string gte(const std::string& more) {
  return R"({"architectures": ["NewModel"], "attention_probs_dropout_prob": 0.0, "classifier_dropout": null,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 1024, "initializer_range": 0.02,
    "intermediate_size": 4096, "layer_norm_eps": 1e-12, "layer_norm_type": "layer_norm", "logn_attention_clip1": false,
    "logn_attention_scale": false, "max_position_embeddings": 8192, "model_type": "new", "num_attention_heads": 16,
    "num_hidden_layers": 24, "pack_qkv": true, "pad_token_id": 0, "position_embedding_type": "rope",
    "rope_scaling": {"factor": 2.0, "type": "ntk"}, "rope_theta": 160000, "torch_dtype": "float32",
    "type_vocab_size": 2, "unpad_inputs": false, "use_memory_efficient_attention": false, "vocab_size": 30528)" +
         more + "}";
}

// sentence-transformers/all-mpnet-base-v2
std::string mpnet(const std::string& architecture) {
  return R"({"architectures": [")" + architecture + R"("], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0,
    "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
    "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514,
    "model_type": "mpnet", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1,
    "relative_attention_num_buckets": 32, "vocab_size": 30527})";
}

// albert/albert-base-v2
std::string albert(const std::string& architecture) {
  return R"({"architectures": [")" + architecture + R"("], "attention_probs_dropout_prob": 0, "bos_token_id": 2,
    "classifier_dropout_prob": 0.1, "down_scale_factor": 1, "embedding_size": 128, "eos_token_id": 3, "gap_size": 0,
    "hidden_act": "gelu_new", "hidden_dropout_prob": 0, "hidden_size": 768, "initializer_range": 0.02,
    "inner_group_num": 1, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "albert", "net_structure_type": 0, "num_attention_heads": 12, "num_hidden_groups": 1,
    "num_hidden_layers": 12, "num_memory_blocks": 0, "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": 30000})";
}

// google/electra-small-discriminator
std::string electra_small(const std::string& architecture) {
  return R"({"architectures": [")" + architecture + R"("], "attention_probs_dropout_prob": 0.1, "embedding_size": 128,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 256, "initializer_range": 0.02,
    "intermediate_size": 1024, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "electra",
    "num_attention_heads": 4, "num_hidden_layers": 12, "pad_token_id": 0, "type_vocab_size": 2,
    "vocab_size": 30522})";
}

/// A BERT layer with biases everywhere and two LayerNorms.
Tensors bert_layer(Count hidden, Count width) {
  return together({projections(hidden, hidden / 64, hidden / 64, 64),
                   {{"biases of q, k, v, o, output", {hidden}, 5},
                    {"intermediate", {width, hidden}},
                    {"its bias", {width}},
                    {"output", {hidden, width}},
                    {"LayerNorms", {hidden}, 4}}});
}
/// An embedding of `width`, and a biased projection to the layers' width.
Tensors narrow_embedding(Count vocabulary, Count width, Count hidden) {
  return {{"word_embeddings", {vocabulary, width}}, {"position_embeddings", {512, width}},
          {"token_type_embeddings", {2, width}},    {"LayerNorm", {width}, 2},
          {"projection", {hidden, width}},          {"its bias", {hidden}}};
}

}  // namespace

TEST_CASE("EuroBERT's parameter count matches its tensor shapes, with and without a head", "[import][family]") {
  const Tensors layer =
      together({projections(768, 12, 12, 64), gated_mlp("mlp", 768, 3072), {{"layernorms", {768}, 2}}});
  const Tensors body = together({in_layers(12, layer), {{"embed_tokens", {128256, 768}}, {"norm", {768}}}});
  const Arch a = check_tensors(eurobert("EuroBertModel"), body, 211766016);
  CHECK(a.is_encoder());
  CHECK(a.head == ModelHead{.kind = HeadKind::none});
  CHECK(cache_elements_per_token(a) == 0);
  const Arch masked = check_tensors(eurobert("EuroBertForMaskedLM"), together({body, {{"lm_head", {128256, 768}}}}),
                                    211766016 + 98500608);
  CHECK(masked.head == ModelHead{});
  CHECK_THAT(refusal(eurobert("EuroBertForCausalLM")), Catch::Contains("whose head is not supported"));
}

// 136731648: the published total of its checkpoint.
TEST_CASE("NomicBERT's parameter count matches its tensor shapes, with RoPE and a gated MLP", "[import][family]") {
  const Tensors layer =
      together({projections(768, 12, 12, 64), gated_mlp("mlp", 768, 3072), {{"norm1, norm2", {768}, 4}}});
  const Tensors body = together(
      {in_layers(12, layer),
       {{"word_embeddings", {30528, 768}}, {"token_type_embeddings", {2, 768}}, {"emb_ln.weight, .bias", {768}, 2}}});
  const Arch a = check_tensors(nomic("NomicBertModel"), body, 136731648);
  CHECK(a.position == Position::rope);
  CHECK(a.norm_placement == NormPlacement::post);
  CHECK(a.context == 8192);
  const Tensors head = {{"transform.dense", {768, 768}}, {"transform.layer_norm", {768}, 2}};
  const Arch masked =
      check_tensors(nomic("NomicBertForPreTraining"), together({body, head}), 136731648 + 768 * 768 + 2 * 768);
  CHECK(masked.tied_head);
  CHECK_FALSE(masked.head_bias);
  CHECK_THAT(refusal(nomic("NomicBertModel", R"(, "num_experts": 8)")), Catch::Contains("share one bias"));
}

TEST_CASE("NomicBERT's config switches are read, and unsupported variants are rejected", "[import][family]") {
  const auto switched = [](const std::string& key, const std::string& from, const std::string& to) {
    std::string all = nomic("NomicBertModel");
    const std::string said = "\"" + key + "\": ";
    return all.replace(all.find(said + from), said.size() + from.size(), said + to);
  };
  CHECK_THAT(refusal(switched("prenorm", "false", "true")), Catch::Contains("LayerNorms after its residual sums"));
  CHECK_THAT(refusal(switched("use_rms_norm", "false", "true")), Catch::Contains("LayerNorms after its residual sums"));
  CHECK_THAT(refusal(switched("rotary_emb_fraction", "1.0", "0")), Catch::Contains("only with RoPE"));
  CHECK_THAT(refusal(switched("mlp_fc1_bias", "false", "true")), Catch::Contains("both biases or neither"));
  CHECK(arch(switched("activation_function", "\"swiglu\"", "\"gelu\"")).mlp == MlpKind::plain);
  CHECK(arch(switched("activation_function", "\"swiglu\"", "\"geglu\"")).activation == Activation::gelu);
  CHECK(arch(switched("architectures", "[\"NomicBertModel\"]", "[]")).head == ModelHead{.kind = HeadKind::none});
  CHECK(arch(switched("qkv_proj_bias", "false", "true")).attention_out_bias);
}

// 434139136: the published total of its checkpoint.
TEST_CASE("GTE's parameter count matches its tensor shapes, with an MLP bias only in the down-projection",
          "[import][family]") {
  const Tensors each = together({projections(1024, 16, 16, 64),
                                 gated_mlp("mlp", 1024, 4096),
                                 {{"biases of q, k, v, o, down_proj", {1024}, 5}, {"attn_ln, mlp_ln", {1024}, 4}}});
  const Tensors body = together({in_layers(24, each),
                                 {{"word_embeddings", {30528, 1024}},
                                  {"token_type_embeddings", {2, 1024}},
                                  {"LayerNorm.weight, .bias", {1024}, 2}}});
  const Arch a = check_tensors(gte(""), body, 434139136);
  CHECK(a.position == Position::rope);
  CHECK(a.head == ModelHead{.kind = HeadKind::none});
}

TEST_CASE("GTE's config selects its norms and its position encoding", "[import][family]") {
  const auto with = [](const std::string& more) { return arch(small("new", more)); };
  CHECK(with("").norm == NormKind::layer_norm);
  CHECK(with(R"("layer_norm_type": "rms_norm")").norm == NormKind::rms_norm);
  CHECK(with(R"("position_embedding_type": "absolute")").position == Position::learned);
  CHECK(with(R"("architectures": ["NewForMaskedLM"])").head.kind == HeadKind::masked_token);
  CHECK(arch(small("gte", R"("architectures": ["GteModel"])")).token_types == 0);
  CHECK_THAT(refusal(small("new", R"("layer_norm_type": "none")")), Catch::Contains("expected layer_norm or rms_norm"));
  CHECK_THAT(refusal(small("new", R"("position_embedding_type": "alibi")")), Catch::Contains("rope or absolute"));
}

// 109486464: the published total of its checkpoint minus 514 position_ids, which are a buffer.
TEST_CASE("MPNet's parameter count matches its tensor shapes, with learned and relative positions",
          "[import][family]") {
  const Tensors each = together({projections(768, 12, 12, 64),
                                 {{"biases of q, k, v, o, output", {768}, 5},
                                  {"intermediate", {3072, 768}},
                                  {"its bias", {3072}},
                                  {"output", {768, 3072}},
                                  {"LayerNorms", {768}, 4}}});
  const Tensors body = together({in_layers(12, each),
                                 {{"word_embeddings", {30527, 768}},
                                  {"position_embeddings", {514, 768}},
                                  {"relative_attention_bias", {32, 12}},
                                  {"LayerNorm.weight, .bias", {768}, 2}}});
  const Tensors pooler{{"pooler.dense", {768, 768}}, {"its bias", {768}}};
  const Arch a = check_tensors(mpnet("MPNetModel"), together({body, pooler}), 109486464);
  CHECK(a.context == 512);
  CHECK(a.learned_rows() == 514);
  CHECK(check_tensors(mpnet("MPNetForMaskedLM"),
                      together({body, {{"dense", {768, 768}}, {"vectors", {768}, 3}, {"bias", {30527}}}}), 109518527)
            .head.kind == HeadKind::masked_token);
}

// 11683584: the parameters of transformers' AlbertModel.
TEST_CASE("ALBERT's parameter count covers its shared layer once, and a narrow embedding", "[import][family]") {
  const Tensors body = together({bert_layer(768, 3072), narrow_embedding(30000, 128, 768)});
  const Arch a =
      check_tensors(albert("AlbertModel"), together({body, {{"pooler", {768, 768}}, {"its bias", {768}}}}), 11683584);
  CHECK(a.layers == 12);
  CHECK(a.activation == Activation::gelu_tanh);
  const Tensors masked{{"dense", {128, 768}}, {"its bias", {128}}, {"LayerNorm", {128}, 2}, {"bias", {30000}}};
  check_tensors(albert("AlbertForMaskedLM"), together({body, masked}), 11683584 - 590592 + 128688);
  CHECK(a.repeats.layers == LayerSet::every(1, 1, 12));
}

TEST_CASE("ALBERT's layer groups run one after the other", "[import][family]") {
  const Arch a = arch(small("albert", R"("num_hidden_groups": 2, "inner_group_num": 2)"));
  REQUIRE(a.layers == 16);  // layers 0 and 1 four times, then 8 and 9
  std::vector<Count> weights;
  for (Count i = 0; i < a.layers; ++i) weights.push_back(a.weights_of(i));
  CHECK(weights == std::vector<Count>{0, 1, 0, 1, 0, 1, 0, 1, 8, 9, 8, 9, 8, 9, 8, 9});
  CHECK(arch(small("albert", R"("num_hidden_groups": 3)")).repeats.layers == test::layers({1, 2, 4, 5, 7}));
  CHECK_THAT(refusal(small("albert", R"("num_hidden_groups": 9)")), Catch::Contains("9, more than the 8 layers"));
  const ModelHead both = arch(small("albert", R"("architectures": ["AlbertForPreTraining"])")).head;
  CHECK((both.kind == HeadKind::masked_token && both.pooler && both.sentence_pair));
}

TEST_CASE("the parameter count of small ELECTRA models includes a narrow embedding", "[import][family]") {
  const Tensors body = together({in_layers(12, bert_layer(256, 1024)), narrow_embedding(30522, 128, 256)});
  check_tensors(electra_small("ElectraModel"), body, 13483008);
}
