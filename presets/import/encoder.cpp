#include <algorithm>

#include "presets/import/families.hpp"

namespace llmcalc::import {

namespace {

/// The head of the class that `architectures` names; without one, the bare model with its pooler.
ModelHead bert_head(const Config& c) {
  const std::vector<std::string> named = c.has("architectures") ? c.texts("architectures") : std::vector<std::string>{};
  const std::string name = named.empty() ? "BertModel" : named.front();
  if (name == "BertModel") return {.kind = HeadKind::none, .pooler = true};
  if (name == "BertForMaskedLM") return {.kind = HeadKind::masked_token};
  if (name == "BertForPreTraining") return {.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true};
  if (name == "BertForNextSentencePrediction") return {.kind = HeadKind::none, .pooler = true, .sentence_pair = true};
  c.refuse("\"architectures\" names " + name +
           ", whose head is not known; expected BertModel, BertForMaskedLM, BertForPreTraining or "
           "BertForNextSentencePrediction");
}

/// hf bert/modeling_bert.py. Every token sees all of the sequence; biases everywhere, LayerNorms behind each residual
/// sum and behind the embedding, to which rows of token types (type_vocab_size, 2) are added.
Arch bert(const Config& c, const Defaults& d) {
  if (c.flag("is_decoder", false)) c.refuse("\"is_decoder\" is true; BERT is known as an encoder alone");
  if (c.text("position_embedding_type", "absolute") != "absolute")
    c.refuse("\"position_embedding_type\": expected absolute, got " + c.text("position_embedding_type", ""));
  Arch a = base_arch(c, d);
  a.bidirectional = true;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.mlp = MlpKind::plain;
  a.activation = activation(c, {"hidden_act"}, "gelu");
  a.norm = NormKind::layer_norm;
  a.norm_placement = NormPlacement::post;
  a.final_norm = false;
  a.embedding_norm = true;
  a.position = Position::learned;
  a.position_rows = a.context;
  a.token_types = c.size("type_vocab_size", 2);
  a.head = bert_head(c);
  a.tied_head = a.head.has_logits() && a.tied_head;
  a.head_bias = a.head.has_logits();
  return a;
}

/// hf t5/modeling_t5.py: num_layers layers of an encoder, then num_decoder_layers of a decoder that reads its result.
/// RMSNorms before every sub-layer and behind each stack, no biases; heads of d_kv, whatever the hidden size; a table
/// of relative_attention_num_buckets x heads in each stack. feed_forward_proj is an activation, or "gated-" and one.
Arch t5(const Config& c, const Defaults& d) {
  Arch a = base_arch(c, d);
  const Count encoder = a.layers;
  a.layers = add(encoder, c.size("num_decoder_layers", encoder));
  require_layers(c, a.layers);
  const std::string mlp = c.text("feed_forward_proj", "relu");
  const bool gated = mlp.starts_with("gated-");
  a.mlp = gated ? MlpKind::gated : MlpKind::plain;
  a.activation = named_activation(c, mlp == "gated-gelu" ? "gelu_new" : gated ? mlp.substr(6) : mlp);
  a.position = Position::relative;
  a.position_rows = c.size("relative_attention_num_buckets", 32);
  LayerMixer decoder;
  static_cast<Mixer&>(decoder) = a;
  decoder.cross_attention = true;
  decoder.layers = LayerSet::every(encoder, 1, a.layers);
  a.bidirectional = true;
  a.mixers.push(decoder);
  return a;
}

}  // namespace

std::vector<Family> encoder_families() {
  return {
      {"t5", t5, {6, 512, 8, 0, 64, 2048, 32128, 512, true}},
      {"bert", bert, {12, 768, 12, 0, 0, 3072, 30522, 512, true}},
  };
}

}  // namespace llmcalc::import
