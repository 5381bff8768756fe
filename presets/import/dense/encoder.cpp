#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// Head of the first class in `architectures`, whose name is `model` plus a suffix such as ForMaskedLM. Without a
/// class, the head of the bare model, with or without BERT's pooler. Classification heads are outside the model,
/// whether they follow BERT's pooler or a separate matrix (RobertaClassificationHead).
ModelHead encoder_head(const Config& c, const std::string& model, bool pooler) {
  const std::string named = named_class(c), name = named.empty() ? model + "Model" : named;
  const bool bert = model == "Bert", pools = bert || model == "Albert";
  if (name == model + "Model") return {.kind = HeadKind::none, .pooler = pooler};
  if (name == model + "ForMaskedLM") return {.kind = HeadKind::masked_token};
  if (name == model + "ForSequenceClassification") return {.kind = HeadKind::none, .pooler = pools};
  if (names_labels(c)) return {.kind = HeadKind::none};
  if (pools && name == model + "ForPreTraining")
    return {.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true};
  if (bert && name == "BertForNextSentencePrediction")
    return {.kind = HeadKind::none, .pooler = true, .sentence_pair = true};
  const std::string more = ", BertForPreTraining or BertForNextSentencePrediction";
  c.refuse("\"architectures\" names " + name + ", whose head is not supported; expected " + model + "Model" +
           (bert ? ", " : " or ") + model + "ForMaskedLM" + (bert ? more : ""));
}

/// Sets the common properties of BERT and its relatives: bidirectional attention, biases everywhere, LayerNorms after
/// each residual sum and after the embedding, learned positions.
void make_encoder(Arch& a, const ModelHead& head) {
  a.bidirectional = true;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.mlp = MlpKind::plain;
  a.norm = NormKind::layer_norm;
  a.norm_placement = NormPlacement::post;
  a.final_norm = false;
  a.embedding_norm = true;
  a.position = Position::learned;
  a.position_rows = a.context;
  a.head = head;
  a.tied_head = head.has_logits() && a.tied_head;
  a.head_bias = head.has_logits();
}

/// hf bert/modeling_bert.py. Rows of token types (type_vocab_size, 2) are added to the embedding.
Arch bert_layers(const Config& c, const Defaults& d, const std::string& model) {
  if (c.flag("is_decoder", false))
    c.refuse("\"is_decoder\" is true; BERT and its variants are supported only as encoders");
  if (c.text("position_embedding_type", "absolute") != "absolute")
    c.refuse("\"position_embedding_type\": expected absolute, got " + c.text("position_embedding_type", ""));
  Arch a = base_arch(c, d);
  make_encoder(a, encoder_head(c, model, c.flag("add_pooling_layer", true)));  // add_pooling_layer is an argument of
                                                                               // hf's BertModel
  a.activation = activation(c, {"hidden_act"}, "gelu");
  a.token_types = c.size("type_vocab_size", 2);
  return a;
}
Arch bert(const Config& c, const Defaults& d) { return bert_layers(c, d, "Bert"); }

/// BERT whose positions start after the padding position (create_position_ids_from_input_ids). Tokens never use the
/// rows up to pad_token_id (1), so 514 rows provide 512 positions.
Arch roberta_layers(const Config& c, const Defaults& d, const std::string& model) {
  Arch a = bert_layers(c, d, model);
  const Count unused = add(c.count("pad_token_id", 1), 1);
  if (unused >= a.position_rows)
    c.refuse("\"pad_token_id\": positions start after it and exceed \"max_position_embeddings\"; lower it");
  a.context = a.position_rows - unused;
  return a;
}
/// hf roberta/modeling_roberta.py and xlm_roberta/modeling_xlm_roberta.py.
Arch roberta(const Config& c, const Defaults& d) { return roberta_layers(c, d, "Roberta"); }
Arch xlm_roberta(const Config& c, const Defaults& d) { return roberta_layers(c, d, "XLMRoberta"); }
/// hf camembert/modeling_camembert.py.
Arch camembert(const Config& c, const Defaults& d) { return roberta_layers(c, d, "Camembert"); }

/// hf mpnet/modeling_mpnet.py: BERT without token types. Scores have a learned bias per head and distance range, from
/// one table of relative_attention_num_buckets rows. Positions start after the padding position, 1, as in RoBERTa.
Arch mpnet(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  make_encoder(a, encoder_head(c, "MPNet", true));
  a.activation = activation(c, {"hidden_act"}, "gelu");
  constexpr Count unused = 2;
  if (a.position_rows <= unused)
    c.refuse("\"max_position_embeddings\" must be greater than 2, since positions start at 2");
  a.added_rows = a.position_rows;
  a.context = a.added_rows - unused;
  a.position = Position::relative;
  a.position_rows = c.size("relative_attention_num_buckets", 32);
  return a;
}

/// Norm named by "layer_norm_type".
NormKind gte_norm(const Config& c) {
  const std::string said = c.text("layer_norm_type", "layer_norm");
  if (said == "layer_norm") return NormKind::layer_norm;
  if (said == "rms_norm") return NormKind::rms_norm;
  c.refuse("\"layer_norm_type\": expected layer_norm or rms_norm, got " + said);
}

/// hub Alibaba-NLP/new-impl, modeling.py, for the GTE models and, under "gte", Snowflake's: BERT with RoPE or learned
/// positions, and gated MLPs with a bias only on the last matrix; no pooler unless the caller requests it.
Arch gte(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  const std::string named = named_class(c);
  make_encoder(a, encoder_head(c, named.starts_with("Gte") ? "Gte" : "New", false));
  a.norm = gte_norm(c);
  a.activation = activation(c, {"hidden_act"}, "gelu");
  a.mlp = MlpKind::gated;
  a.mlp_bias = false;
  a.mlp_out_bias = true;
  a.token_types = c.count("type_vocab_size", 0);
  c.ignore({"layer_norm_type", "logn_attention_scale", "logn_attention_clip1", "pack_qkv", "unpad_inputs",
            "use_memory_efficient_attention"});
  const std::string position = c.text("position_embedding_type", "rope");
  if (position == "absolute") return a;
  if (position != "rope") c.refuse("\"position_embedding_type\": expected rope or absolute, got " + position);
  a.position = Position::rope;
  a.position_rows = 0;
  return a;
}

/// Sets an embedding of this width, followed by a projection with bias if the layers have another width.
void set_narrow_ends(Arch& a, Count width) {
  a.embedding_width = width;
  a.narrow_ends = width != a.hidden;
}

/// hf albert/modeling_albert.py: BERT whose embedding is narrower than its layers. Layers form num_hidden_groups (1)
/// groups of inner_group_num (1) layers with separate weights. Groups run in sequence, each several times: run i uses
/// group floor(i num_hidden_groups / num_hidden_layers), so the groups' run counts differ by at most one.
Arch albert(const Config& c, const Defaults& d) {
  Arch a = bert_layers(c, d, "Albert");
  a.activation = activation(c, {"hidden_act"}, "gelu_new");
  set_narrow_ends(a, c.size("embedding_size", 128));
  const Count groups = c.size("num_hidden_groups", 1), inner = c.size("inner_group_num", 1), runs = a.layers;
  if (groups > runs)
    c.refuse(
        fmt::format("\"num_hidden_groups\" is {}, more than the {} layers, so some would never run", groups, runs));
  a.layers = mul(runs, inner);
  require_layers(c, a.layers);
  a.repeats.period = inner;
  const auto group_of = [&](Count run) { return run * groups / runs; };
  for (Count i = inner; i < a.layers; ++i)
    if (group_of(i / inner) == group_of(i / inner - 1)) a.repeats.layers.insert(i);
  if (!a.has_repeats()) a.repeats = {};
  c.ignore({"classifier_dropout_prob", "net_structure_type", "num_memory_blocks", "gap_size", "down_scale_factor"});
  return a;
}

/// hf electra/modeling_electra.py: BERT without a pooler. In small ELECTRA models, tables are narrower than the
/// layers and followed by a projection with bias. ElectraForPreTraining has label logits: it classifies every token
/// as replaced or not.
Arch electra(const Config& c, const Defaults& d) {
  Arch a = bert_layers(c, d, "Electra");
  set_narrow_ends(a, c.size("embedding_size", 128));
  c.ignore({"summary_use_proj"});
  a.head.pooler = false;
  return a;
}

/// hf distilbert/modeling_distilbert.py: BERT with other key names, without token types or a pooler.
Arch distilbert(const Config& c, const Defaults& d) {
  if (c.flag("sinusoidal_pos_embds", false))
    c.refuse("\"sinusoidal_pos_embds\" is true; a stored table of sinusoidal positions is not supported");
  Arch a;
  a.layers = c.required({"n_layers", "num_hidden_layers"}, d.layers);
  require_layers(c, a.layers);
  a.hidden = a.embedding_width = c.required({"dim", "hidden_size"}, d.hidden);
  a.heads = a.kv_heads = c.required({"n_heads", "num_attention_heads"}, d.heads);
  if (a.hidden % a.heads != 0) c.refuse("\"dim\" must be a multiple of \"n_heads\", since the heads divide it evenly");
  a.head_dim = a.hidden / a.heads;
  a.mlp_width = c.size("hidden_dim", d.mlp);
  a.vocabulary = c.required({"vocab_size"}, d.vocabulary);
  a.context = c.size("max_position_embeddings", d.context);
  a.tied_head = c.flag("tie_word_embeddings", d.tied);
  make_encoder(a, encoder_head(c, "DistilBert", false));
  a.activation = activation(c, {"activation"}, "gelu");
  return a;
}

/// hf t5/modeling_t5.py: num_layers encoder layers, then num_decoder_layers decoder layers that read the encoder's
/// output. RMSNorms before every sub-layer and after each stack, no biases; heads of width d_kv, independent of the
/// hidden size; a table of relative_attention_num_buckets x heads in each stack. feed_forward_proj is an activation,
/// possibly with the prefix "gated-".
Arch t5_layers(const Config& c, const Defaults& d, std::string_view usual_mlp) {
  Arch a = base_arch(c, d);
  const Count encoder = a.layers, decoder_layers = c.size("num_decoder_layers", encoder);
  const bool alone = names_encoder_alone(c);
  if (!alone) a.layers = add(encoder, decoder_layers);
  if (!c.flag("scale_decoder_outputs", true)) a.tied_head = false;  // hf saves "tied" for T5 1.1, which is untied
  require_layers(c, a.layers);
  const std::string mlp = c.text("feed_forward_proj", usual_mlp);
  const bool gated = mlp.starts_with("gated-");
  a.mlp = gated ? MlpKind::gated : MlpKind::plain;
  a.activation = named_activation(c, mlp == "gated-gelu" ? "gelu_new" : gated ? mlp.substr(6) : mlp);
  a.position = Position::relative;
  a.position_rows = c.size("relative_attention_num_buckets", 32);
  if (alone) {
    a.bidirectional = true;
    a.tied_head = false;
    a.head = {.kind = HeadKind::none};
    return a;
  }
  LayerMixer decoder;
  static_cast<Mixer&>(decoder) = a;
  decoder.cross_attention = true;
  decoder.layers = LayerSet::every(encoder, 1, a.layers);
  a.bidirectional = true;
  a.mixers.push(decoder);
  return a;
}
Arch t5(const Config& c, const Defaults& d) { return t5_layers(c, d, "relu"); }

/// hf mt5/modeling_mt5.py: T5 with gated MLPs. Files have a separate head, as their configs state, although the
/// config class of later versions ties it.
Arch mt5(const Config& c, const Defaults& d) { return t5_layers(c, d, "gated-gelu"); }

/// hf umt5/modeling_umt5.py: mT5 with a table of relative positions in each layer of both stacks; cross-attention has
/// no table.
Arch umt5(const Config& c, const Defaults& d) {
  Arch a = mt5(c, d);
  a.layer_distances = true;
  return a;
}

/// Layers with a window: those marked in layer_types or, without that key, all layers except 0, n, 2n, ..., for n =
/// global_attn_every_n_layers.
LayerSet modernbert_local(const Config& c, const Arch& a) {
  const LayerSet global = LayerSet::every(0, c.size("global_attn_every_n_layers", 3), a.layers);
  return layers_of_type(c, a, "sliding_attention").value_or(others(global, a.layers));
}

/// hf modernbert/modeling_modernbert.py: LayerNorms (without biases unless norm_bias) after the embedding, before
/// both sub-layers except the first layer's attention, and after the last layer; gated MLPs; RoPE, with a separate
/// base for each kind of layer. In a local layer, a token attends to local_attention / 2 tokens on each side and to
/// itself. The MLM head is a dense layer (classifier_bias), classifier_activation and a norm, followed by the token
/// embedding with a bias (decoder_bias). A classification head is outside the model, as are the dense layer and norm
/// before it.
Arch modernbert_layers(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.activation = activation(c, {"hidden_activation"}, "gelu");
  a.norm = c.flag("norm_bias", false) ? NormKind::layer_norm : NormKind::layer_norm_no_bias;
  a.embedding_norm = true;
  a.first_norm = false;
  return a;
}

void modernbert_head(const Config& c, Arch& a, const ModelHead& head) {
  a.head = head;
  a.tied_head = a.head.has_logits() && a.tied_head;
  a.head_bias = a.head.has_logits() && c.flag("decoder_bias", true);
  a.head.transform_bias = !a.head.has_logits() || c.flag("classifier_bias", false);
  c.ignore({"classifier_bias", "decoder_bias", "tie_word_embeddings", "classifier_pooling", "norm_eps",
            "layer_norm_eps", "sparse_pred_ignore_index", "sparse_prediction"});
  if (named_activation(c, c.text("classifier_activation", "gelu")) != a.activation)
    c.refuse(
        "\"classifier_activation\" differs from \"hidden_activation\"; a head with a separate activation is not "
        "supported");
}

Arch modernbert(const Config& c, const Defaults& d) {
  Arch a = modernbert_layers(c, d);
  a.bidirectional = true;
  set_reach(a, {add(mul(2, c.size("local_attention", 128) / 2), 1)}, modernbert_local(c, a));
  modernbert_head(c, a, encoder_head(c, "ModernBert", false));
  return a;
}

/// hf modernbert_decoder/modeling_modernbert_decoder.py: the same layers as a decoder, with windows of
/// local_attention / 2 tokens and the MLM head.
Arch modernbert_decoder(const Config& c, const Defaults& d) {
  Arch a = modernbert_layers(c, d);
  set_reach(a, {c.size("local_attention", 128) / 2}, modernbert_local(c, a));
  modernbert_head(c, a, {.kind = HeadKind::masked_token});
  return a;
}

/// hf eurobert/modeling_eurobert.py: bidirectional Llama. The MLM head is only a matrix (mlp_bias), untied by
/// default.
Arch eurobert(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  a.bidirectional = true;
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.head = encoder_head(c, "EuroBert", false);
  if (a.head.has_logits()) a.head.kind = HeadKind::next_token;
  a.tied_head = a.head.has_logits() && a.tied_head;
  a.head_bias = a.head.has_logits() && a.mlp_bias;
  c.ignore({"classifier_pooling", "clf_pooling"});
  return a;
}

/// Sets NomicBERT's MLP: gated for swiglu and geglu, otherwise plain.
void nomic_mlp(const Config& c, Arch& a) {
  a.mlp_width = c.size({"n_inner", "intermediate_size"}, mul(4, a.hidden));
  const std::string act = c.text("activation_function", "gelu");
  const bool gated = act == "swiglu" || act == "geglu";
  a.mlp = gated ? MlpKind::gated : MlpKind::plain;
  a.activation = act == "swiglu" ? Activation::silu : act == "geglu" ? Activation::gelu : named_activation(c, act);
  a.mlp_bias = c.flag("mlp_fc1_bias", true);
  if (c.flag("mlp_fc2_bias", true) != a.mlp_bias)
    c.refuse("\"mlp_fc1_bias\" and \"mlp_fc2_bias\" differ; only an MLP with both biases or neither is supported");
}

/// Throws InputError for unsupported options of NomicBERT.
void refuse_other_nomic(const Config& c) {
  if (c.has("num_experts") && c.count("num_experts", 0) > 1)
    c.refuse("\"num_experts\" is above 1; NomicBERT's experts share one bias, which is not supported");
  if (c.flag("prenorm", false) || c.flag("use_rms_norm", false))
    c.refuse(
        "\"prenorm\" or \"use_rms_norm\" is true; NomicBERT is supported only with LayerNorms after its residual sums");
  if (c.number("rotary_emb_fraction", 0) <= 0)
    c.refuse("\"rotary_emb_fraction\" is 0; NomicBERT is supported only with RoPE");
}

/// hub nomic-ai/nomic-bert-2048, modeling_hf_nomic_bert.py, also for nomic-embed-text-v1.5: BERT with other key
/// names, RoPE instead of learned positions, a gated MLP and separate keys for its biases; no pooler. The MLM head is
/// a dense layer, a norm and the token embedding, with biases if the MLP has them.
Arch nomic_bert(const Config& c, const Defaults& d) {
  refuse_other_nomic(c);
  Arch a = base_arch(c, d);
  a.context = c.first_size({"n_positions", "max_position_embeddings"}, d.context);
  const bool pretrains = named_class(c) == "NomicBertForPreTraining";
  make_encoder(a, pretrains ? ModelHead{.kind = HeadKind::masked_token} : encoder_head(c, "NomicBert", false));
  a.position = Position::rope;
  a.position_rows = 0;
  a.qkv_bias = a.attention_out_bias = c.flag("qkv_proj_bias", true);
  nomic_mlp(c, a);
  a.token_types = c.count("type_vocab_size", 2);
  if (pretrains) a.head_bias = a.head.transform_bias = a.mlp_bias;
  c.ignore({"fused_bias_fc", "pad_vocab_size_multiple", "fused_dropout_add_ln", "last_layer_subset", "summary_use_proj",
            "mup_scale_qk_dot_by_d"});
  return a;
}

}  // namespace

bool names_encoder_alone(const Config& c) { return named_class(c).ends_with("EncoderModel"); }

bool names_labels(const Config& c) {
  static constexpr std::array<std::string_view, 9> words{"SequenceClassification",
                                                         "TokenClassification",
                                                         "QuestionAnswering",
                                                         "RewardModel",
                                                         "ForReward",
                                                         "Classifier",
                                                         "ForScore",
                                                         "ForRanking",
                                                         "ElectraForPreTraining"};
  const std::string name = named_class(c);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::vector<Family> encoder_families() {
  return {
      {"t5", t5, {6, 512, 8, 0, 64, 2048, 32128, 512, true}},
      {"mt5", mt5, {8, 512, 6, 0, 64, 1024, 250112, 512}},
      {"umt5", umt5, {8, 512, 6, 0, 64, 1024, 250112, 512}},
      {"bert", bert, {12, 768, 12, 0, 0, 3072, 30522, 512, true}},
      {"roberta", roberta, {12, 768, 12, 0, 0, 3072, 50265, 512, true}},
      {"xlm-roberta", xlm_roberta, {12, 768, 12, 0, 0, 3072, 30522, 512, true}},
      {"camembert", camembert, {12, 768, 12, 0, 0, 3072, 30522, 512, true}},
      {"mpnet", mpnet, {12, 768, 12, 0, 0, 3072, 30527, 512, true}},
      {"new gte", gte, {12, 768, 12, 0, 0, 3072, 30528, 2048, true}},
      {"albert", albert, {12, 4096, 64, 0, 0, 16384, 30000, 512, true}},
      {"electra", electra, {12, 256, 4, 0, 0, 1024, 30522, 512, true}},
      {"eurobert", eurobert, {12, 768, 12, 0, 0, 3072, 128256, 8192}},
      {"nomic_bert", nomic_bert, {12, 768, 12, 0, 0, 0, 50257, 1024, true}},
      {"modernbert-decoder", modernbert_decoder, {22, 768, 12, 0, 0, 1152, 50368, 8192, true}},
      {"modernbert", modernbert, {22, 768, 12, 0, 0, 1152, 50368, 8192, true}},
      {"distilbert", distilbert, {6, 768, 12, 0, 0, 3072, 30522, 512, true}},
  };
}

}  // namespace llmcalc::import
