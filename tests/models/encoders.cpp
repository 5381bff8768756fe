#include "tests/models/encoders.hpp"

namespace llmcalc::test {

Arch tiny_bert() {
  Arch a = tiny_gpt();
  a.bidirectional = true;
  a.activation = Activation::gelu;
  a.norm_placement = NormPlacement::post;
  a.final_norm = false;
  a.embedding_norm = true;
  a.token_types = 2;
  a.head = {.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true};
  a.head_bias = true;
  return a;
}

Arch tiny_modernbert() {
  Arch a = tiny_llama();
  a.layers = 3;
  a.bidirectional = true;
  a.kv_heads = a.heads;
  a.activation = Activation::gelu;
  a.norm = NormKind::layer_norm_no_bias;
  a.embedding_norm = true;
  a.first_norm = false;
  a.local = {.reach = {3}, .layers = LayerSet::every(1, 1, 3)};
  a.head = {.kind = HeadKind::masked_token, .transform_bias = false};
  a.tied_head = a.head_bias = true;
  return a;
}

Arch tiny_t5() {
  Arch a = tiny_llama();
  a.layers = 4;
  a.heads = a.kv_heads = 3;
  a.mlp = MlpKind::plain;
  a.activation = Activation::relu;
  a.position = Position::relative;
  a.position_rows = 8;
  a.tied_head = true;
  LayerMixer decoder;
  static_cast<Mixer&>(decoder) = a;
  decoder.cross_attention = true;
  decoder.layers = LayerSet::every(2, 1, 4);
  a.bidirectional = true;
  a.mixers.push(decoder);
  return a;
}

namespace {

/// BERT with projections between a narrow token embedding and the layers; all layers share the first layer's weights.
Arch tiny_albert() {
  Arch a = tiny_bert();
  a.layers = 3;
  a.embedding_width = 7;
  a.narrow_ends = true;
  a.repeats.layers = LayerSet::every(1, 1, 3);
  return a;
}

/// T5 with gated MLPs and a table of relative positions in every layer.
Arch tiny_umt5() {
  Arch a = tiny_t5();
  a.mlp = MlpKind::gated;
  a.activation = Activation::gelu_tanh;
  a.layer_distances = true;
  return a;
}

/// Changes the attention of both stacks.
template <typename F>
void in_both(Arch& a, F change) {
  change(static_cast<Mixer&>(a));
  change(static_cast<Mixer&>(a.mixers[0]));
}

std::vector<Variant> encoder_decoder_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_t5(), tiny_plan()};
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("T5", [](Arch&, Plan&) {});
  add("T5, gated MLPs, head of its own, naive, dropout", [](Arch& a, Plan& p) {
    a.mlp = MlpKind::gated;
    a.activation = Activation::gelu_tanh;
    a.tied_head = false;
    p.attention = AttentionImpl::naive;
    p.dropout = true;
  });
  add("uMT5", [](Arch& a, Plan&) { a = tiny_umt5(); });
  add("uMT5, naive, dropout", [](Arch& a, Plan& p) {
    a = tiny_umt5();
    p.attention = AttentionImpl::naive;
    p.dropout = true;
  });
  add("uMT5, cores again", [](Arch& a, Plan& p) {
    a = tiny_umt5();
    p.recompute = Recompute::selective;
  });
  add("T5, cores again, dropout", [](Arch&, Plan& p) { p.recompute = Recompute::selective, p.dropout = true; });
  add("T5, all again, dropout", [](Arch&, Plan& p) { p.recompute = Recompute::full, p.dropout = true; });
  add("T5, all again, naive, many heads", [](Arch& a, Plan& p) {
    in_both(a, [](Mixer& m) { m.heads = m.kv_heads = 12; });
    a.mlp_width = 1;
    p.recompute = Recompute::full;
    p.attention = AttentionImpl::naive;
  });
  add("T5, a deep encoder with narrow MLPs, grouped heads, wide values, biases", [](Arch& a, Plan&) {
    a.layers = 5;
    a.mixers[0].layers = LayerSet::every(4, 1, 5);
    a.mlp_width = 1;
    in_both(a, [](Mixer& m) {
      m.heads = 4;
      m.kv_heads = 2;
      m.value_dim = 7;
      m.qkv_bias = m.attention_out_bias = true;
    });
  });
  add("an encoder before a decoder, RoPE, post-norm, seed storage", [](Arch& a, Plan& p) {
    a.position = Position::rope;
    a.position_rows = 0;
    a.norm = NormKind::layer_norm;
    a.norm_placement = NormPlacement::post;
    in_both(a, [](Mixer& m) { m.head_dim = 6; });
    p.attention = AttentionImpl::naive;
    p.softmax_store = SoftmaxStore::seed;
  });
  return all;
}

/// Variants of tiny BERT that do not generate.
class EncoderList {
 public:
  void operator()(const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_bert(), tiny_plan()};
    v.plan.generate = 0;
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  }
  std::vector<Variant> all;
};

void add_bert(EncoderList& add) {
  add("BERT", [](Arch&, Plan&) {});
  add("BERT, naive, dropout", [](Arch&, Plan& p) { p.attention = AttentionImpl::naive, p.dropout = true; });
  add("BERT's pooler alone, selective", [](Arch& a, Plan& p) {
    a.head = {.kind = HeadKind::none, .pooler = true};
    a.tied_head = a.head_bias = false;
    p.recompute = Recompute::selective;
  });
  add("an encoder without head, again", [](Arch& a, Plan& p) {
    a.head = {.kind = HeadKind::none};
    a.tied_head = a.head_bias = false;
    p.recompute = Recompute::full;
  });
  add("masked tokens, grouped heads, three segments, RoPE", [](Arch& a, Plan&) {
    a = tiny_llama();
    a.bidirectional = true;
    a.final_norm = false;
    a.token_types = 3;
    a.head = {.kind = HeadKind::masked_token};
  });
  add("pairs of sentences, ALiBi, seed storage", [](Arch& a, Plan& p) {
    a.position = Position::alibi;
    a.position_rows = 0;
    a.head = {.kind = HeadKind::none, .pooler = true, .sentence_pair = true};
    a.tied_head = a.head_bias = false;
    p.attention = AttentionImpl::naive;
    p.softmax_store = SoftmaxStore::seed;
  });
  add("an encoder with relative positions", [](Arch& a, Plan&) {
    a.position = Position::relative;
    a.position_rows = 5;
  });
  add("T5's encoder alone, without head", [](Arch& a, Plan&) {
    a = tiny_t5();
    a.layers = 2;
    a.mixers = {};
    a.head = {.kind = HeadKind::none};
    a.tied_head = false;
  });
  add("uMT5's encoder alone, all again", [](Arch& a, Plan& p) {
    a = tiny_umt5();
    a.layers = 2;
    a.mixers = {};
    a.head = {.kind = HeadKind::none};
    a.tied_head = false;
    p.recompute = Recompute::full;
  });
}

void add_albert(EncoderList& add) {
  add("ALBERT", [](Arch& a, Plan&) { a = tiny_albert(); });
  add("ALBERT, all again, dropout", [](Arch& a, Plan& p) {
    a = tiny_albert();
    p.recompute = Recompute::full, p.dropout = true;
  });
  add("ALBERT's pooler alone, naive, dropout", [](Arch& a, Plan& p) {
    a = tiny_albert();
    a.head = {.kind = HeadKind::none, .pooler = true};
    a.tied_head = a.head_bias = false;
    p.attention = AttentionImpl::naive, p.dropout = true;
  });
  add("a small ELECTRA", [](Arch& a, Plan&) {
    a = tiny_albert();
    a.repeats = {};
  });
}

/// Symmetric windows and no norm before the first mixer; also decoders without a first norm or without a head.
void add_modernbert(EncoderList& add) {
  add("ModernBERT", [](Arch& a, Plan&) { a = tiny_modernbert(); });
  add("ModernBERT, naive, dropout", [](Arch& a, Plan& p) {
    a = tiny_modernbert();
    p.attention = AttentionImpl::naive;
    p.dropout = true;
  });
  add("ModernBERT without head, cores again", [](Arch& a, Plan& p) {
    a = tiny_modernbert();
    a.head = {.kind = HeadKind::none};
    a.tied_head = a.head_bias = false;
    p.recompute = Recompute::selective;
  });
  add("a decoder whose first layer has no norm", [](Arch& a, Plan& p) {
    a = tiny_llama();
    a.first_norm = false;
    p.recompute = Recompute::full;
  });
  add("a decoder without head", [](Arch& a, Plan& p) {
    a = tiny_llama();
    a.head = {.kind = HeadKind::none};
    a.tied_head = false;
    p.recompute = Recompute::selective;
  });
}

}  // namespace

std::vector<Variant> encoder_variants() {
  EncoderList list;
  add_bert(list);
  add_albert(list);
  add_modernbert(list);
  for (Variant& v : encoder_decoder_variants()) list.all.push_back(std::move(v));
  return std::move(list.all);
}

}  // namespace llmcalc::test
