// BERT and related models, T5, and ModernBERT.

#include "tests/catch.hpp"
#include "tests/presets/import_text.hpp"
#include "tests/presets/tensor_list.hpp"
#include "tests/sentence.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A BERT-like layer with biases everywhere and two LayerNorms.
Tensors encoder_layer(Count hidden, Count width) {
  return {{"query, key, value, output", {hidden, hidden}, 4},
          {"their biases", {hidden}, 4},
          {"intermediate", {width, hidden}},
          {"intermediate.bias", {width}},
          {"output", {hidden, width}},
          {"output.bias", {hidden}},
          {"LayerNorm.weight, .bias", {hidden}, 4}};
}

/// Embedding tables, followed by a LayerNorm.
Tensors embeddings(Count vocabulary, Count positions, Count types, Count hidden) {
  return {{"word_embeddings", {vocabulary, hidden}},
          {"position_embeddings", {positions, hidden}},
          {"token_type_embeddings", {types, hidden}},
          {"LayerNorm.weight, .bias", {hidden}, 2}};
}

/// Dense layer and LayerNorm before the tied head, which has its own bias.
Tensors masked_head(Count vocabulary, Count hidden) {
  return {{"dense", {hidden, hidden}}, {"dense.bias", {hidden}}, {"layer_norm", {hidden}, 2}, {"bias", {vocabulary}}};
}

/// A stack of T5 layers with heads of width d_kv, a table of relative positions and a final norm. Decoders have
/// attention twice.
Tensors t5_stack(Count layers, Count hidden, Count heads, Count d_kv, Count width, bool decodes) {
  const Count attentions = decodes ? 2 : 1;
  return together({in_layers(layers, {{"q, k, v, o", {heads * d_kv, hidden}, 4 * attentions},
                                      {"wi_0, wi_1, wo", {width, hidden}, 3},
                                      {"layer_norm", {hidden}, attentions + 1}}),
                   {{"relative_attention_bias", {32, heads}}, {"final_layer_norm", {hidden}}}});
}

// FacebookAI/roberta-base
std::string roberta(const char* architecture) {
  return R"({"architectures": [")" + std::string(architecture) + R"("], "attention_probs_dropout_prob": 0.1,
    "bos_token_id": 0, "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
    "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514,
    "model_type": "roberta", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1,
    "type_vocab_size": 1, "vocab_size": 50265})";
}

// BAAI/bge-m3
const std::string bge_m3 = R"({"architectures": ["XLMRobertaModel"], "attention_probs_dropout_prob": 0.1,
  "bos_token_id": 0, "classifier_dropout": null, "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
  "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 4096, "layer_norm_eps": 1e-05,
  "max_position_embeddings": 8194, "model_type": "xlm-roberta", "num_attention_heads": 16, "num_hidden_layers": 24,
  "output_past": true, "pad_token_id": 1, "position_embedding_type": "absolute", "torch_dtype": "float32",
  "type_vocab_size": 1, "use_cache": true, "vocab_size": 250002})";

// distilbert/distilbert-base-uncased
std::string distilbert(const std::string& more) {
  return R"({"activation": "gelu", "attention_dropout": 0.1, "dim": 768, "dropout": 0.1, "hidden_dim": 3072,
    "initializer_range": 0.02, "max_position_embeddings": 512, "model_type": "distilbert", "n_heads": 12,
    "n_layers": 6, "pad_token_id": 0, "qa_dropout": 0.1, "seq_classif_dropout": 0.2, "tie_weights_": true,
    "vocab_size": 30522, )" +
         more + "}";
}

// google/mt5-small
const std::string mt5_small = R"({"architectures": ["MT5ForConditionalGeneration"], "d_ff": 1024, "d_kv": 64,
  "d_model": 512, "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1,
  "feed_forward_proj": "gated-gelu", "initializer_factor": 1.0, "is_encoder_decoder": true,
  "layer_norm_epsilon": 1e-06, "model_type": "mt5", "num_decoder_layers": 8, "num_heads": 6, "num_layers": 8,
  "pad_token_id": 0, "relative_attention_num_buckets": 32, "tie_word_embeddings": false, "use_cache": true,
  "vocab_size": 250112})";

/// A stack of uMT5 layers: T5's with a table of relative positions per layer.
Tensors umt5_stack(Count layers, Count hidden, Count heads, Count d_kv, Count width, bool decodes) {
  Tensors all = t5_stack(layers, hidden, heads, d_kv, width, decodes);
  all[all.size() - 2].copies = layers;
  return all;
}

/// google/umt5-small and -xxl
std::string umt5(const std::string& sizes, const std::string& architecture) {
  return R"({"architectures": [")" + architecture + R"("], "d_kv": 64, "decoder_start_token_id": 0,
    "dropout_rate": 0.1, "eos_token_id": 1, "feed_forward_proj": "gated-gelu", "initializer_factor": 1.0,
    "is_encoder_decoder": true, "layer_norm_epsilon": 1e-06, "model_type": "umt5", "output_past": true,
    "pad_token_id": 0, "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32,
    "scalable_attention": true, "tie_word_embeddings": false, "use_cache": true, "vocab_size": 256384, )" +
         sizes + "}";
}
const std::string umt5_xxl = R"("d_ff": 10240, "d_model": 4096, "num_decoder_layers": 24, "num_heads": 64,
  "num_layers": 24)";

// answerdotai/ModernBERT-base and -large
std::string modernbert(const std::string& architecture, const std::string& sizes) {
  return R"({"architectures": [")" + architecture + R"("], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 50281, "classifier_activation": "gelu", "classifier_bias": false, "classifier_dropout": 0.0,
    "classifier_pooling": "mean", "cls_token_id": 50281, "decoder_bias": true, "deterministic_flash_attn": false,
    "embedding_dropout": 0.0, "eos_token_id": 50282, "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0,
    "gradient_checkpointing": false, "hidden_activation": "gelu", "initializer_cutoff_factor": 2.0,
    "initializer_range": 0.02, "layer_norm_eps": 1e-05, "local_attention": 128, "local_rope_theta": 10000.0,
    "max_position_embeddings": 8192, "mlp_bias": false, "mlp_dropout": 0.0, "model_type": "modernbert",
    "norm_bias": false, "norm_eps": 1e-05, "pad_token_id": 50283, "position_embedding_type": "absolute",
    "reference_compile": true, "repad_logits_with_grad": false, "sep_token_id": 50282,
    "sparse_pred_ignore_index": -100, "sparse_prediction": false, "torch_dtype": "float32", "vocab_size": 50368, )" +
         sizes + "}";
}
const std::string modernbert_base = R"("hidden_size": 768, "intermediate_size": 1152, "num_attention_heads": 12,
  "num_hidden_layers": 22)";
const std::string modernbert_large = R"("hidden_size": 1024, "intermediate_size": 2624, "num_attention_heads": 16,
  "num_hidden_layers": 28)";

/// ModernBERT's tables, layers and norms: two norms per layer, but only one in the first.
Tensors modernbert_body(Count layers, Count hidden, Count width) {
  return {
      {"tok_embeddings", {50368, hidden}}, {"embeddings.norm", {hidden}},       {"Wqkv", {3 * hidden, hidden}, layers},
      {"Wo", {hidden, hidden}, layers},    {"Wi", {2 * width, hidden}, layers}, {"mlp.Wo", {hidden, width}, layers},
      {"attn_norm", {hidden}, layers - 1}, {"mlp_norm", {hidden}, layers},      {"final_norm", {hidden}}};
}

}  // namespace

TEST_CASE("BERT's head follows the class named in its config", "[import]") {
  const auto head = [](const char* name) {
    return arch(small("bert", R"("architectures": [")" + std::string(name) + "\"]")).head;
  };
  CHECK(arch(small("bert", "")).head == ModelHead{.kind = HeadKind::none, .pooler = true});
  CHECK(head("BertModel") == ModelHead{.kind = HeadKind::none, .pooler = true});
  CHECK(head("BertForMaskedLM") == ModelHead{.kind = HeadKind::masked_token});
  CHECK(head("BertForPreTraining") == ModelHead{.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true});
  CHECK(refusal(small("bert", R"("architectures": ["BertLMHeadModel"])")) ==
        "c.json: \"architectures\" names BertLMHeadModel, whose head is not supported; expected BertModel, "
        "BertForMaskedLM, BertForPreTraining or BertForNextSentencePrediction");
  CHECK(refusal(small("bert", R"("is_decoder": true)")) ==
        "c.json: \"is_decoder\" is true; BERT and its variants are supported only as encoders");
}

TEST_CASE("T5's decoder has as many layers as its encoder unless a key differs", "[import]") {
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

TEST_CASE("T5's encoder class has no decoder and no head", "[import]") {
  const Arch a = arch(R"({"model_type": "t5", "architectures": ["T5EncoderModel"], "d_model": 96, "num_layers": 3,
    "num_heads": 4, "d_kv": 16, "d_ff": 256, "vocab_size": 1000, "num_decoder_layers": 3,
    "is_encoder_decoder": true})");
  CHECK(a.layers == 3);
  CHECK(a.is_encoder());
  CHECK(a.head == ModelHead{.kind = HeadKind::none});
  // A table, 3 layers with 4 projections, 2 matrices and 2 norms, relative positions of 32 x 4, a final norm
  CHECK(parameters(a).total == 1000 * 96 + 3 * (4 * 96 * 64 + 2 * 96 * 256 + 2 * 96) + 32 * 4 + 96);
}

TEST_CASE("RoBERTa's parameter count matches its tensor shapes, with a head or a pooler", "[import][family]") {
  const Tensors body = together({embeddings(50265, 514, 1, 768), in_layers(12, encoder_layer(768, 3072))});
  const Arch masked =
      check_tensors(roberta("RobertaForMaskedLM"), together({body, masked_head(50265, 768)}), 124697433);
  CHECK(masked.head == ModelHead{.kind = HeadKind::masked_token});
  CHECK(masked.tied_head);
  const Arch bare = check_tensors(roberta("RobertaModel"),
                                  together({body, {{"pooler.dense", {768, 768}}, {"pooler.bias", {768}}}}), 124645632);
  CHECK(bare.head == ModelHead{.kind = HeadKind::none, .pooler = true});
  CHECK(bare.position_rows == 514);
  CHECK(bare.context == 512);
  CHECK_THAT(refusal(roberta("RobertaForCausalLM")), Catch::Contains("expected RobertaModel or RobertaForMaskedLM"));
  const ModelCard labels = imported(roberta("RobertaForSequenceClassification"));
  CHECK(parameters(labels.arch).total == 124645632 - 768 * 768 - 768);
  CHECK_THAT(labels.caveats.back(), Catch::Contains("RobertaForSequenceClassification has label logits"));
}

TEST_CASE("XLM-RoBERTa's parameter count matches its tensor shapes", "[import][family]") {
  const Arch a = check_tensors(bge_m3,
                               together({embeddings(250002, 8194, 1, 1024),
                                         in_layers(24, encoder_layer(1024, 4096)),
                                         {{"pooler.dense", {1024, 1024}}, {"pooler.bias", {1024}}}}),
                               567754752);
  CHECK(a.context == 8192);
  CHECK_THAT(refusal(small("xlm-roberta", R"("pad_token_id": 63)")),
             Catch::Contains("\"max_position_embeddings\"; lower it"));
  CHECK_THAT(refusal(small("xlm-roberta", R"("is_decoder": true)")), Catch::Contains("only as encoders"));
  CHECK_THAT(refusal(small("xlm-roberta", R"("position_embedding_type": "relative_key")")),
             Catch::Contains("expected absolute"));
}

TEST_CASE("DistilBERT's parameter count matches its tensor shapes, without a pooler", "[import][family]") {
  const Tensors body = together({embeddings(30522, 512, 0, 768), in_layers(6, encoder_layer(768, 3072))});
  const Arch masked = check_tensors(distilbert(R"("architectures": ["DistilBertForMaskedLM"])"),
                                    together({body, masked_head(30522, 768)}), 66985530);
  CHECK(masked.token_types == 0);
  const Arch bare = check_tensors(distilbert(R"("architectures": ["DistilBertModel"])"), body, 66362880);
  CHECK(bare.head == ModelHead{.kind = HeadKind::none});
  CHECK_THAT(refusal(distilbert(R"("sinusoidal_pos_embds": true)")), Catch::Contains("sinusoidal positions"));
}

TEST_CASE("mT5's parameter count matches its tensor shapes, with a gated MLP and an untied head", "[import][family]") {
  const Arch a = check_tensors(mt5_small,
                               together({t5_stack(8, 512, 6, 64, 1024, false),
                                         t5_stack(8, 512, 6, 64, 1024, true),
                                         {{"shared", {250112, 512}}, {"lm_head", {250112, 512}}}}),
                               300176768);
  CHECK(a.mlp == MlpKind::gated);
  CHECK(a.activation == Activation::gelu_tanh);
  CHECK(arch(part(R"({"model_type": "mt5"})")) == a);  // MT5Config defaults to the small model
}

TEST_CASE("reward, scoring and ranking classes have no LM head", "[import]") {
  const auto of_class = [](const std::string& name) {
    json::Value v = json::parse(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 128,
      "num_attention_heads": 4, "intermediate_size": 256, "vocab_size": 1000, "max_position_embeddings": 512})",
                                "c");
    v["architectures"] = {name};
    return import_config(v, "c.json").arch;
  };
  const Count whole = parameters(of_class("LlamaForCausalLM")).total;
  for (const char* name : {"LlamaForRewardModelWithGating", "LlamaForScore", "Qwen2ForClassifier", "JinaForRanking"}) {
    INFO(name);
    CHECK(parameters(of_class(name)).total == whole - 1000 * 128);
  }
  CHECK_THAT(test::sentence([&] { of_class("LlamaForCausalLMEagle3"); }), Catch::Contains("is a draft model"));
}

// 5,680,910,336: the encoder in Wan 2.1, models_t5_umt5-xxl-enc-bf16.pth, has 11,361,920,418 bytes: two per parameter
// and 99,746 of pickle.
TEST_CASE("uMT5 has a relative position table in every layer, T5 one in every stack", "[import][family]") {
  const Arch a = check_tensors(umt5(R"("d_ff": 1024, "d_model": 512, "num_decoder_layers": 8, "num_heads": 6,
                                    "num_layers": 8)",
                                    "UMT5ForConditionalGeneration"),
                               together({umt5_stack(8, 512, 6, 64, 1024, false),
                                         umt5_stack(8, 512, 6, 64, 1024, true),
                                         {{"shared", {256384, 512}}, {"lm_head", {256384, 512}}}}),
                               306601984);
  CHECK(a.layer_distances);
  const Arch alone =
      check_tensors(umt5(umt5_xxl, "UMT5EncoderModel"),
                    together({umt5_stack(24, 4096, 64, 64, 10240, false), {{"shared", {256384, 4096}}}}), 5680910336);
  CHECK(alone.is_encoder());
  CHECK(alone.head == ModelHead{.kind = HeadKind::none});
}

TEST_CASE("ModernBERT's parameter count matches its tensor shapes, with and without a head", "[import][family]") {
  const auto head = [](Count hidden) {
    return Tensors{{"head.dense", {hidden, hidden}}, {"head.norm", {hidden}}, {"decoder.bias", {50368}}};
  };
  const Tensors base = modernbert_body(22, 768, 1152);
  const Arch a =
      check_tensors(modernbert("ModernBertForMaskedLM", modernbert_base), together({base, head(768)}), 149655232);
  CHECK(a.head == ModelHead{.kind = HeadKind::masked_token, .transform_bias = false});
  CHECK(a.tied_head);
  CHECK_FALSE(a.first_norm);
  CHECK(cache_elements_per_token(a) == 0);
  check_tensors(modernbert("ModernBertForMaskedLM", modernbert_large),
                together({modernbert_body(28, 1024, 2624), head(1024)}), 395881664);
  const Arch bare = check_tensors(modernbert("ModernBertModel", modernbert_base), base, 149014272);
  CHECK(bare.head == ModelHead{.kind = HeadKind::none});
}

TEST_CASE("two of three ModernBERT layers attend to 64 tokens on each side", "[import][family]") {
  const Arch a = arch(modernbert("ModernBertModel", modernbert_base));
  CHECK(a.local.reach == Reach{129, false});
  CHECK(a.local.layers == others_of(22, {0, 3, 6, 9, 12, 15, 18, 21}));
  const Arch each = arch(small("modernbert", R"("global_attn_every_n_layers": 1)"));
  CHECK(each.local == LocalAttention());
  const Arch typed = arch(small("modernbert", R"("local_attention": 16, "layer_types": ["sliding_attention",
    "sliding_attention", "full_attention", "full_attention", "full_attention", "full_attention", "full_attention",
    "full_attention"])"));
  CHECK(typed.local == LocalAttention{{17, false}, layers({0, 1})});
  CHECK_THAT(refusal(small("modernbert", R"("architectures": ["ModernBertForMaskedLM"], "classifier_activation":
    "relu")")),
             Catch::Contains("differs from \"hidden_activation\""));
}

TEST_CASE("CamemBERT imports as RoBERTa with a head or a pooler", "[import][family]") {
  std::string camembert = roberta("CamembertForMaskedLM");
  for (const auto& [from, to] : {std::pair{"\"roberta\"", "\"camembert\""}, std::pair{"50265", "32005"}})
    camembert.replace(camembert.find(from), std::string(from).size(), to);
  const Tensors body = together({embeddings(32005, 514, 1, 768), in_layers(12, encoder_layer(768, 3072))});
  const Arch a = check_tensors(camembert, together({body, masked_head(32005, 768)}), 110655493);
  CHECK(a.context == 512);
  CHECK(arch(small("camembert", "")).head == ModelHead{.kind = HeadKind::none, .pooler = true});
}

TEST_CASE("ELECTRA whose tables are as wide as its layers imports as BERT without a pooler", "[import][family]") {
  // google/electra-base-discriminator
  const std::string base = R"({"architectures": ["ElectraForPreTraining"], "attention_probs_dropout_prob": 0.1,
    "embedding_size": 768, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
    "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "electra", "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0,
    "summary_activation": "gelu", "summary_last_dropout": 0.1, "summary_type": "first", "summary_use_proj": true,
    "type_vocab_size": 2, "vocab_size": 30522})";
  const Arch a = check_tensors(
      base, together({embeddings(30522, 512, 2, 768), in_layers(12, encoder_layer(768, 3072))}), 108891648);
  CHECK(a.head == ModelHead{.kind = HeadKind::none});
  CHECK_THAT(imported(base).caveats.back(), Catch::Contains("ElectraForPreTraining has label logits"));
}
