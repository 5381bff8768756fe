#include "tests/models/hybrids.hpp"

namespace llmcalc::test {

namespace {

/// A two-layer Llama with only the recurrence in layer 0.
Variant with(const std::string& name, const Recurrent& r) {
  Variant v{name, tiny_llama(), tiny_plan()};
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.recurrent = r;
  m.layers = LayerSet::every(0, 2, v.arch.layers);
  v.arch.mixers.push(m);
  return v;
}

/// Heads and MLPs differ by layer; the last layer has no MLP.
Variant unlike_layers() {
  Variant v{"heads, windows and MLPs by layer", tiny_llama(), tiny_plan()};
  v.arch.layers = 3;
  LayerMixer m;
  m.heads = 3;
  m.kv_heads = 1;
  m.head_dim = 6;
  m.qk_norm = QkNorm::per_head;
  m.reach = {.tokens = 3};
  m.layers = LayerSet::every(1, 2, 3);
  v.arch.mixers.push(m);
  v.arch.mlps.push({.width = 7, .layers = LayerSet::every(1, 2, 2)});
  v.arch.mlps.push({.width = 0, .layers = LayerSet::every(2, 1, 3)});
  return v;
}

/// Nemotron-H: each layer is a mixer or an MLP.
Variant one_thing_per_layer() {
  Variant v = with("a mixer or an MLP per layer", mamba2(4));
  v.arch.layers = 3;
  LayerMixer nothing;
  nothing.attention = AttentionKind::none;
  nothing.layers = LayerSet::every(1, 1, 2);
  v.arch.mixers.push(nothing);
  v.arch.mlps.push({.width = 0, .layers = LayerSet::every(0, 2, 3)});
  return v;
}

std::vector<Variant> attention_variants() {
  const Arch llama = tiny_llama();
  std::vector<Variant> all{unlike_layers()};
  const auto add = [&](const char* name, const Arch& a, void (*change)(Arch&, Plan&)) {
    Variant v{name, a, tiny_plan()};
    change(v.arch, v.plan);
    all.push_back(std::move(v));
  };
  add("gate per head", llama, [](Arch& a, Plan&) { a.attention_gate = AttentionGate::per_head; });
  add("gate per channel, naive, values narrower than keys", llama, [](Arch& a, Plan& p) {
    a.attention_gate = AttentionGate::per_channel;
    a.value_dim = 3;
    p.attention = AttentionImpl::naive;
  });
  add("gated latent heads", tiny_deepseek(), [](Arch& a, Plan& p) {
    a.attention_gate = AttentionGate::per_channel;
    p.recompute = Recompute::selective;
  });
  // Grouped attention: bf16 rounding must not decide between two experts or accumulate in absorbed heads.
  add("experts of a latent width", tiny_deepseek(), [](Arch& a, Plan&) {
    a.attention = AttentionKind::grouped;
    a.latent = {};
    a.moe.latent_width = 7;
    a.moe.latent_norm = true;
  });
  add("xIELU", tiny_gpt(), [](Arch& a, Plan&) { a.activation = Activation::xielu; });
  add("xIELU of experts", tiny_deepseek(), [](Arch& a, Plan&) {
    a.attention = AttentionKind::grouped;
    a.latent = {};
    a.activation = Activation::xielu;
  });
  add("xIELU as a gate, made again", llama, [](Arch& a, Plan& p) {
    a.activation = Activation::xielu;
    p.glu_store = GluStore::recompute;
  });
  add("linear attention", llama, [](Arch& a, Plan&) { a.linear_layers = LayerSet::every(0, 2, 2); });
  add("linear attention, norms of heads of queries and keys", llama, [](Arch& a, Plan&) {
    a.linear_layers = LayerSet::every(0, 2, 2);
    a.qk_norm = QkNorm::per_head;
  });
  add("linear attention, norms of queries and keys with biases", llama, [](Arch& a, Plan&) {
    a.linear_layers = LayerSet::every(0, 2, 2);
    a.qk_norm = QkNorm::full_bias;
  });
  return all;
}

std::vector<Variant> recurrent_variants() {
  std::vector<Variant> all{with("short convolution", short_convolution()), one_thing_per_layer()};
  for (const Count chunk : {0, 4}) {
    const std::string in_chunks = chunk > 0 ? ", in chunks" : "";
    all.push_back(with("Mamba-2" + in_chunks, mamba2(chunk)));
    all.push_back(with("gated DeltaNet" + in_chunks, gated_delta_net(chunk)));
    all.push_back(with("KDA" + in_chunks, kimi_delta(chunk)));
    all.push_back(with("Mamba-1 with heads" + in_chunks, mamba_heads(chunk)));
    all.push_back(with("mLSTM" + in_chunks, mlstm(chunk)));
    all.push_back(with("RWKV-5" + in_chunks, rwkv5(chunk)));
    all.push_back(with("RWKV-6, a gate of the MLP" + in_chunks, rwkv6(chunk)));
    all.back().arch.mlp_shift = all.back().arch.mlp_receptance = true;
  }
  all.push_back(with("Mamba-1", mamba()));
  all.push_back(with("Mamba-1, norms of step, B and C", mamba()));
  all.back().arch.mixers[0].recurrent.inner_norms = true;
  all.push_back(with("RG-LRU", rg_lru()));
  all.push_back(with("RG-LRU, norms of each head", rg_lru()));
  all.back().arch.qk_norm = QkNorm::each_head_rms;
  all.back().plan.recompute = Recompute::full;
  all.push_back(with("mLSTM, again", mlstm(3)));
  all.back().plan.recompute = Recompute::full;
  all.push_back(with("KDA, full rank, again", kimi_delta(3)));
  all.back().arch.mixers[0].recurrent.full_rank_gate = true;
  all.back().plan.recompute = Recompute::full;
  all.push_back(with("attention beside Mamba-2, GLU made again", mamba2(4)));
  LayerMixer& both = all.back().arch.mixers[0];
  both.attention = AttentionKind::grouped;
  both.heads = 2, both.kv_heads = 1, both.head_dim = 4;
  both.recurrent.gated_norm = false;
  all.back().plan.glu_store = GluStore::recompute;
  all.push_back(with("a convolution, norms of outputs, dropout", short_convolution()));
  all.back().arch.norm_placement = NormPlacement::output;
  all.back().plan.dropout = true;
  return all;
}

}  // namespace

Recurrent short_convolution() {
  return {.kind = RecurrentKind::short_convolution, .heads = 10, .head_dim = 1, .taps = 3, .convolution_bias = true};
}
Recurrent mamba2(Count chunk) {
  return {.kind = RecurrentKind::mamba2,
          .heads = 4,
          .head_dim = 3,
          .key_heads = 2,
          .key_dim = 5,
          .taps = 4,
          .convolution_bias = true,
          .gated_norm = true,
          .chunk = chunk};
}
Recurrent gated_delta_net(Count chunk) {
  return {.kind = RecurrentKind::gated_delta_net,
          .heads = 4,
          .head_dim = 3,
          .key_heads = 2,
          .key_dim = 5,
          .taps = 4,
          .chunk = chunk};
}
Recurrent kimi_delta(Count chunk) {
  return {.kind = RecurrentKind::kimi_delta,
          .heads = 2,
          .head_dim = 4,
          .key_heads = 2,
          .key_dim = 4,
          .taps = 2,
          .rank = 3,
          .decays = 3,
          .chunk = chunk};
}
Recurrent mamba() {
  return {.kind = RecurrentKind::mamba,
          .heads = 8,
          .head_dim = 1,
          .key_heads = 1,
          .key_dim = 3,
          .taps = 4,
          .rank = 2,
          .convolution_bias = true};
}

Recurrent mamba_heads(Count chunk) {
  return {.kind = RecurrentKind::mamba,
          .heads = 4,
          .head_dim = 3,
          .key_heads = 1,
          .key_dim = 5,
          .taps = 4,
          .rank = 2,
          .inner_norms = true,
          .chunk = chunk};
}
Recurrent rg_lru() {
  return {.kind = RecurrentKind::rg_lru, .heads = 3, .head_dim = 4, .key_dim = 1, .taps = 3, .convolution_bias = true};
}
Recurrent mlstm(Count chunk) {
  return {.kind = RecurrentKind::mlstm, .heads = 2, .head_dim = 5, .key_heads = 2, .key_dim = 4, .chunk = chunk};
}
Recurrent rwkv6(Count chunk) {
  return {.kind = RecurrentKind::rwkv6,
          .heads = 2,
          .head_dim = 8,
          .key_heads = 2,
          .key_dim = 8,
          .rank = 5,
          .mix_rank = 3,
          .chunk = chunk};
}
Recurrent rwkv5(Count chunk) {
  Recurrent r = rwkv6(chunk);
  r.rank = r.mix_rank = 0;
  return r;
}

std::vector<Variant> hybrid_variants() {
  std::vector<Variant> all = attention_variants();
  for (Variant& v : recurrent_variants()) all.push_back(std::move(v));
  return all;
}

}  // namespace llmcalc::test
