#include "tests/model/encoders.hpp"

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

std::vector<Variant> encoder_variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, void (*change)(Arch&, Plan&)) {
    Variant v{name, tiny_bert(), tiny_plan()};
    v.plan.generate = 0;
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
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
  return all;
}

}  // namespace llmcalc::test
