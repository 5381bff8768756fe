#include "presets/import/quantization/recurrent_matrices.hpp"

#include <utility>

namespace llmcalc::import {

namespace {

/// Matrices as named in hf qwen3_next, qwen3_5 and olmo_hybrid.
void gated_delta_net(const NamedLayer& l, const Recurrent& r, Count hidden) {
  const Projections p(l, {"linear_attn"});
  const Count values = r.width(), keys = mul(r.key_heads, r.key_dim), qkv = add(mul(2, keys), values);
  const DeltaMatrices stored = l.fused().delta;
  if (stored == DeltaMatrices::with_gate) {
    p({"in_proj_qkvz", "in_proj_qkv", "in_proj_z"}, add(qkv, values), hidden);
    p({"in_proj_ba", "in_proj_b", "in_proj_a"}, mul(2, r.heads), hidden);
  } else {
    if (stored == DeltaMatrices::qkv) p({"in_proj_qkv", "in_proj_qkvz"}, qkv, hidden);
    if (stored == DeltaMatrices::apart)
      for (const auto& [name, rows] :
           {std::pair{"q_proj", keys}, std::pair{"k_proj", keys}, std::pair{"v_proj", values}})
        p({name}, rows, hidden);
    p({"in_proj_z", "in_proj_qkvz", "g_proj"}, values, hidden);
    p({"in_proj_b", "in_proj_ba", "b_proj"}, r.heads, hidden);
    p({"in_proj_a", "in_proj_ba", "a_proj"}, r.heads, hidden);
  }
  p({"out_proj", "o_proj"}, hidden, values);
}

/// Matrices as named in hub Kimi-Linear.
void kimi_delta(const NamedLayer& l, const Recurrent& r, Count hidden) {
  const Projections p(l, attention_names);
  const Count values = r.width();
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) p({name}, values, hidden);
  p({"f_a_proj"}, r.rank, hidden);
  p({"f_b_proj"}, values, r.rank);
  p({"b_proj"}, r.heads, hidden);
  if (r.full_rank_gate) {
    p({"g_proj"}, values, hidden);
  } else {
    p({"g_a_proj"}, r.rank, hidden);
    p({"g_b_proj"}, values, r.rank);
  }
  p({"o_proj"}, hidden, values);
}

/// Matrices as named in hf mamba and hub PLaMo 2.
void mamba(const NamedLayer& l, const Recurrent& r, Count hidden) {
  const Projections p(l, {"mixer", "mamba"});
  const Count values = r.width();
  p({"in_proj"}, mul(2, values), hidden);
  p({"x_proj", "bcdt_proj"}, add(r.rank, mul(2, r.key_dim)), values);
  p({"dt_proj"}, r.heads, r.rank);
  p({"out_proj"}, hidden, values);
}

/// Matrices as named in hf granitemoehybrid and falcon_h1, and in hub Nemotron-H.
void mamba2(const NamedLayer& l, const Recurrent& r, Count hidden) {
  const Projections p(l, {"mixer", "mamba"});
  const Count values = r.width(), keys = mul(r.key_heads, r.key_dim);
  p({"in_proj"}, add(add(mul(2, values), mul(2, keys)), r.heads), hidden);
  p({"out_proj"}, hidden, values);
}

/// Matrices as named in fla rwkv7.
void rwkv7(const NamedLayer& l, const Recurrent& r, Count hidden) {
  const Projections p(l, {"attn"});
  const Count values = r.width();
  for (const char* name : {"r_proj", "k_proj", "v_proj"}) p({name}, values, hidden);
  for (const auto& [name, rank] : {std::pair{"w_lora", r.rank}, std::pair{"a_lora", r.step_rank},
                                   std::pair{"v_lora", r.value_rank}, std::pair{"g_lora", r.gate_rank}}) {
    if (rank == 0) continue;
    p({std::string(name) + ".lora.0"}, rank, hidden);
    p({std::string(name) + ".lora.2"}, values, rank);
  }
  p({"o_proj"}, hidden, values);
}

/// Matrices as named in hf lfm2.
void short_convolution(const NamedLayer& l, Count hidden) {
  const Projections p(l, {"conv"});
  p({"in_proj"}, mul(3, hidden), hidden);
  p({"out_proj"}, hidden, hidden);
}

/// Matrices as named in hf recurrent_gemma.
void rg_lru(const NamedLayer& l, const Recurrent& r, Count hidden) {
  const Projections p(l, {"temporal_block"});
  const Count values = r.width();
  for (const char* name : {"linear_x", "linear_y"}) p({name}, values, hidden, true);
  for (const char* name : {"rg_lru.input_gate_weight", "rg_lru.recurrent_gate_weight"})
    p.parameter(name, r.head_dim, r.head_dim, r.heads);
  p({"linear_out"}, hidden, values, true);
}

/// Matrices as named in hub RWKV-5 and RWKV-6.
void rwkv6(const NamedLayer& l, const Recurrent& r, Count hidden) {
  const Projections p(l, {"attention"});
  const Count values = r.width();
  for (const char* name : {"receptance", "key", "value", "gate"}) p({name}, values, hidden);
  if (r.mix_rank > 0) {
    p.parameter("time_maa_w1", mul(5, r.mix_rank), hidden);
    p.parameter("time_maa_w2", hidden, r.mix_rank, 5);
    p.parameter("time_decay_w1", r.rank, hidden);
    p.parameter("time_decay_w2", values, r.rank);
  }
  p({"output"}, hidden, values);
}

/// Matrices as named in hf xlstm.
void mlstm(const NamedLayer& l, const Recurrent& r, Count hidden) {
  const Projections p(l, {"mlstm_layer"});
  const Count values = r.width(), keys = mul(r.key_heads, r.key_dim);
  for (const char* name : {"q", "k"}) p({name}, keys, hidden);
  for (const char* name : {"v", "ogate_preact"}) p({name}, values, hidden);
  for (const char* name : {"igate_preact", "fgate_preact"}) p({name}, r.heads, hidden, true);
  p({"out_proj"}, hidden, values);
}

}  // namespace

void recurrent_matrices(const NamedLayer& l, const Recurrent& r, Count hidden) {
  switch (r.kind) {
    case RecurrentKind::none:
      return;
    case RecurrentKind::gated_delta_net:
      return gated_delta_net(l, r, hidden);
    case RecurrentKind::kimi_delta:
      return kimi_delta(l, r, hidden);
    case RecurrentKind::mamba:
      return mamba(l, r, hidden);
    case RecurrentKind::mamba2:
      return mamba2(l, r, hidden);
    case RecurrentKind::rwkv7:
      return rwkv7(l, r, hidden);
    case RecurrentKind::short_convolution:
      return short_convolution(l, hidden);
    case RecurrentKind::rg_lru:
      return rg_lru(l, r, hidden);
    case RecurrentKind::rwkv6:
      return rwkv6(l, r, hidden);
    case RecurrentKind::mlstm:
      return mlstm(l, r, hidden);
  }
}

}  // namespace llmcalc::import
