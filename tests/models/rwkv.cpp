#include "tests/models/rwkv.hpp"

namespace llmcalc::test {

Variant rwkv7(Count chunk) {
  Variant v{chunk > 0 ? "RWKV-7, in chunks" : "RWKV-7", tiny_gpt(), tiny_plan()};
  Arch& a = v.arch;
  a.layers = 3;
  a.context = 16;
  a.attention = AttentionKind::none;
  a.heads = a.kv_heads = a.head_dim = 0;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.tied_head = false;
  a.recurrent = {.kind = RecurrentKind::rwkv7,
                 .heads = 2,
                 .head_dim = 8,
                 .key_heads = 2,
                 .key_dim = 8,
                 .rank = 5,
                 .step_rank = 2,
                 .gate_rank = 7,
                 .value_rank = 3,
                 .chunk = chunk};
  a.activation = Activation::relu_squared;
  a.mlp_shift = a.embedding_norm = true;
  a.position = Position::none;
  a.position_rows = 0;
  LayerMixer first;
  static_cast<Mixer&>(first) = a;
  first.recurrent.value_rank = 0;
  first.layers.insert(0);
  a.mixers.push(first);
  return v;
}

std::vector<Variant> rwkv_variants() {
  std::vector<Variant> all{rwkv7(0), rwkv7(4)};
  const auto add = [&](const char* name, Count chunk, void (*change)(Arch&, Plan&)) {
    all.push_back(rwkv7(chunk));
    all.back().name = name;
    change(all.back().arch, all.back().plan);
  };
  add("RWKV-7, blocks again", 3, [](Arch&, Plan& p) { p.recompute = Recompute::full; });
  add("RWKV-7, statistics not kept, dropout", 0, [](Arch&, Plan& p) { p.norm_stats = false, p.dropout = true; });
  add("RWKV-7 before attention, a shift before a gated MLP", 4, [](Arch& a, Plan&) {
    LayerMixer last;
    last.heads = 2, last.kv_heads = 1, last.head_dim = 6;
    last.layers.insert(2);
    a.mixers.push(last);
    a.mlp = MlpKind::gated;
    a.norm = NormKind::rms_norm;
    a.activation = Activation::silu;
  });
  return all;
}

}  // namespace llmcalc::test
