#pragma once
/// Models with shapes that no preset has.

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "presets/model_card.hpp"

namespace llmcalc::test {

/// A small model, modified by `change`.
inline ModelCard odd(const char* name, void (*change)(Arch&)) {
  Arch a;
  a.layers = 7;
  a.hidden = 96;
  a.vocabulary = 1001;
  a.context = 4096;
  a.embedding_width = 96;
  a.heads = 8;
  a.kv_heads = 2;
  a.head_dim = 12;
  a.mlp_width = 250;
  change(a);
  ModelCard m;
  m.name = m.title = name;
  m.arch = a;
  return m;
}

/// The models of all lists, concatenated.
inline std::vector<ModelCard> joined(std::initializer_list<std::vector<ModelCard>> lists) {
  std::vector<ModelCard> all;
  for (const std::vector<ModelCard>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

inline void latent(Arch& a) {
  a.attention = AttentionKind::latent,
  a.latent = {.q_rank = 24, .kv_rank = 16, .nope_dim = 8, .rope_dim = 4, .v_dim = 10};
}

/// Unusual tables, norms and positions.
inline std::vector<ModelCard> odd_tables() {
  return {
      odd("table narrower than the model, post norm, no final norm",
          [](Arch& a) {
            a.embedding_width = 40;
            a.norm_placement = NormPlacement::post;
            a.final_norm = false;
            a.tied_head = true;
            a.position = Position::learned;
            a.position_rows = 4098;
            a.mlp_bias = a.qkv_bias = a.attention_out_bias = true;
          }),
      odd("narrow table with an embedding norm, untied head with bias",
          [](Arch& a) {
            a.embedding_width = 40;
            a.embedding_norm = a.head_bias = true;
            a.norm = NormKind::weight_free;
          }),
      odd("embedding norm, sandwich, full norms of q and k with bias, windows",
          [](Arch& a) {
            a.embedding_norm = true;
            a.norm_placement = NormPlacement::both;
            a.qk_norm = QkNorm::full_bias;
            a.local = {{100}, LayerSet::every(1, 2, 7)};
            a.mlp = MlpKind::gated;
            a.attention_sinks = true;
          }),
  };
}

/// BERT's embedding, norms and head: token types, a pooler and a masked-token head.
inline void bert(Arch& a) {
  a.bidirectional = true;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.norm_placement = NormPlacement::post;
  a.final_norm = false;
  a.embedding_norm = true;
  a.position = Position::learned;
  a.position_rows = 4096;
  a.token_types = 3;
  a.head = {.kind = HeadKind::masked_token, .pooler = true, .sentence_pair = true};
  a.tied_head = a.head_bias = true;
}

/// Encoders and one encoder-decoder.
inline std::vector<ModelCard> odd_encoders() {
  return {
      odd("an encoder with narrow ends whose layers all have one set of weights",
          [](Arch& a) {
            bert(a);
            a.narrow_ends = true;
            a.embedding_width = 40;
            a.repeats.layers = LayerSet::every(1, 1, 7);
          }),
      odd("an encoder with token types, a pooler and a head for masked tokens", bert),
      odd("an encoder with learned and relative positions, a bias on the MLP's last matrix alone",
          [](Arch& a) {
            a.bidirectional = true;
            a.qkv_bias = a.attention_out_bias = a.mlp_out_bias = true;
            a.mlp = MlpKind::gated;
            a.norm_placement = NormPlacement::post;
            a.final_norm = false;
            a.embedding_norm = true;
            a.position = Position::relative;
            a.position_rows = 32;
            a.added_rows = 4098;
            a.head = {.kind = HeadKind::masked_token};
            a.tied_head = a.head_bias = true;
          }),
      odd("an encoder without a head",
          [](Arch& a) {
            a.bidirectional = true;
            a.head = {.kind = HeadKind::none, .pooler = true};
            a.final_norm = false;
          }),
      odd("an encoder before a decoder, relative positions",
          [](Arch& a) {
            a.norm = NormKind::rms_norm;
            a.position = Position::relative;
            a.position_rows = 32;
            a.mlp = MlpKind::gated;
            LayerMixer decoder;
            static_cast<Mixer&>(decoder) = a;
            decoder.cross_attention = true;
            decoder.layers = LayerSet::every(3, 1, 7);
            a.bidirectional = true;
            a.mixers.push(decoder);
          }),
  };
}

/// Attention in windows and chunks.
inline std::vector<ModelCard> odd_windows() {
  return {
      odd("every layer windowed, output norms, per-head norms with bias",
          [](Arch& a) {
            a.norm_placement = NormPlacement::output;
            a.qk_norm = QkNorm::per_head_bias;
            a.norm = NormKind::rms_norm;
            a.local = {{64}, LayerSet::all(7)};
            a.mlp = MlpKind::gated;
            a.activation = Activation::xielu;
          }),
      odd("chunks in some layers",
          [](Arch& a) {
            a.local = {{100, true}, LayerSet::every(0, 2, 7)};
            a.mlp = MlpKind::gated;
            a.norm = NormKind::rms_norm;
          }),
  };
}

/// Keys and values shared across layers, low-rank queries.
inline std::vector<ModelCard> odd_shared_keys() {
  return {
      odd("layers that share keys and values, inputs and factors of their own, wider MLPs",
          [](Arch& a) {
            a.qk_norm = QkNorm::per_head;
            a.value_norm = a.output_scale = true;
            a.norm = NormKind::rms_norm;
            a.norm_placement = NormPlacement::both;
            a.norms_per_layer = 4;
            a.mlp = MlpKind::gated;
            a.local = {{100}, LayerSet::every(0, 1, 3)};
            LayerMixer full, sharing;
            static_cast<Mixer&>(full) = static_cast<Mixer&>(sharing) = a;
            full.head_dim = 20;
            full.layers.insert(3);
            sharing.shared_kv = true;
            sharing.reach.tokens = 100;
            sharing.layers = LayerSet::every(4, 1, 7);
            a.mixers.push(full);
            a.mixers.push(sharing);
            a.mlps.push({500, LayerSet::every(4, 1, 7)});
            a.per_layer = {.rows = 333, .width = 10};
          }),
      odd("queries from a low rank over one head of keys, norms before the last matrices",
          [](Arch& a) {
            a.kv_heads = 1;
            a.latent.q_rank = 20;
            a.sub_norms = true;
            a.mlp = MlpKind::gated;
            a.norm = NormKind::rms_norm;
          }),
      odd("keys of the layer before, under factors of the queries",
          [](Arch& a) {
            a.qk_norm = QkNorm::per_head;
            a.norm = NormKind::rms_norm;
            a.mlp = MlpKind::gated;
            LayerMixer sharing;
            static_cast<Mixer&>(sharing) = a;
            sharing.shared_kv = sharing.query_scale = true;
            sharing.layers = LayerSet::every(1, 2, 7);
            a.mixers.push(sharing);
          }),
  };
}

/// Latent attention in parallel blocks.
inline std::vector<ModelCard> odd_latent_attentions() {
  return {
      odd("latent attention with windows in a parallel block of two norms",
          [](Arch& a) {
            latent(a);
            a.block = BlockKind::parallel;
            a.local = {{333}, LayerSet::every(0, 3, 7)};
            a.qkv_bias = a.attention_out_bias = true;
          }),
      odd("latent attention with direct queries, experts everywhere",
          [](Arch& a) {
            latent(a);
            a.latent.q_rank = 0;
            a.block = BlockKind::parallel;
            a.norms_per_layer = 1;
            a.moe.experts = a.moe.top_k = 6;
            a.moe.width = 33;
            a.moe.layers = LayerSet::all(7);
            a.mlp_width = 0;
          }),
  };
}

/// Models whose attention reads all keys within reach.
inline std::vector<ModelCard> odd_attentions() {
  return joined({odd_windows(), odd_shared_keys(), odd_latent_attentions()});
}

/// Models whose attention reads selected or compressed keys.
inline std::vector<ModelCard> odd_choices() {
  return {
      odd("latent attention to tokens that an indexer chooses, shared by some layers",
          [](Arch& a) {
            latent(a);
            a.indexer = {.kind = IndexerKind::lightning, .heads = 3, .width = 6, .top_k = 50};
            LayerMixer shared;
            static_cast<Mixer&>(shared) = a;
            shared.indexer.shared = true;
            shared.layers = LayerSet::every(2, 2, 7);
            a.mixers.push(shared);
          }),
      odd("grouped attention to blocks that an indexer chooses",
          [](Arch& a) {
            a.indexer = {.kind = IndexerKind::blocks, .heads = 2, .width = 6, .top_k = 4, .block = 16};
            a.mlp = MlpKind::gated;
          }),
      odd("compressed attention of three kinds between residual streams",
          [](Arch& a) {
            a.attention = AttentionKind::compressed;
            a.kv_heads = 1;
            a.latent = {.q_rank = 24, .rope_dim = 4};
            a.attention_sinks = true;
            a.compressed = {.out_groups = 4, .out_rank = 10};
            a.streams = 3;
            a.norm = NormKind::rms_norm;
            a.mlp = MlpKind::gated;
            LayerMixer chosen, pooled;
            static_cast<Mixer&>(chosen) = static_cast<Mixer&>(pooled) = a;
            chosen.compressed.ratio = 4;
            chosen.compressed.overlap = true;
            chosen.indexer = {.kind = IndexerKind::lightning, .heads = 3, .width = 6, .top_k = 20};
            pooled.compressed.ratio = 16;
            chosen.reach = pooled.reach = {100};
            chosen.layers = LayerSet::every(1, 2, 7);
            pooled.layers = LayerSet::every(2, 4, 7);
            a.mixers.push(chosen);
            a.mixers.push(pooled);
            a.local = {{100}, LayerSet::every(0, 4, 7)};
          }),
  };
}

/// Linear attention in many layers.
inline std::vector<ModelCard> odd_linear_attention() {
  return {
      odd("linear attention but for one layer, experts in some",
          [](Arch& a) {
            a.linear_layers = LayerSet::every(1, 1, 7);
            a.mlp = MlpKind::gated;
            a.norm = NormKind::rms_norm;
            a.moe.experts = 10;
            a.moe.top_k = 3;
            a.moe.width = 50;
            a.moe.shared_experts = 3;
            a.moe.shared_width = 20;
            a.moe.shared_gate = a.moe.router_bias = a.moe.expert_bias = true;
            a.moe.layers = LayerSet::every(2, 2, 7);
          }),
      odd("linear attention with norms of queries and keys beside latent attention",
          [](Arch& a) {
            a.kv_heads = a.heads;
            a.qk_norm = QkNorm::per_head;
            a.norm = NormKind::rms_norm;
            a.linear_layers = LayerSet::all(6);
            LayerMixer latent;
            static_cast<Mixer&>(latent) = a;
            latent.attention = AttentionKind::latent;
            latent.latent = {.q_rank = 20, .kv_rank = 12, .nope_dim = 10, .rope_dim = 6, .v_dim = 14};
            latent.head_dim = 16;
            latent.qk_norm = QkNorm::none;
            latent.layers.insert(6);
            a.mixers.push(latent);
          }),
      odd("linear attention alone",
          [](Arch& a) {
            a.linear_layers = LayerSet::all(7);
            a.activation = Activation::xielu;
          }),
  };
}

/// RWKV-5 to RWKV-7.
inline std::vector<ModelCard> odd_rwkv() {
  return {
      odd("RWKV-7, two of whose layers hand on their values, MLPs that mix tokens",
          [](Arch& a) {
            a.attention = AttentionKind::none;
            a.recurrent = {.kind = RecurrentKind::rwkv7,
                           .heads = 8,
                           .head_dim = 14,
                           .key_heads = 8,
                           .key_dim = 14,
                           .rank = 9,
                           .step_rank = 5,
                           .gate_rank = 11,
                           .value_rank = 3,
                           .chunk = 16};
            a.embedding_norm = a.mlp_shift = true;
            a.activation = Activation::relu_squared;
            a.position = Position::none;
            LayerMixer giving;
            static_cast<Mixer&>(giving) = a;
            giving.recurrent.value_rank = 0;
            giving.layers = LayerSet::every(0, 3, 7);
            a.mixers.push(giving);
          }),
      odd("RWKV-6 and, in some layers, RWKV-5, MLPs under a gate",
          [](Arch& a) {
            a.attention = AttentionKind::none;
            a.recurrent = {.kind = RecurrentKind::rwkv6,
                           .heads = 8,
                           .head_dim = 14,
                           .key_heads = 8,
                           .key_dim = 14,
                           .rank = 9,
                           .mix_rank = 5,
                           .chunk = 16};
            a.embedding_norm = a.mlp_shift = a.mlp_receptance = true;
            a.activation = Activation::relu_squared;
            a.position = Position::none;
            LayerMixer fixed;
            static_cast<Mixer&>(fixed) = a;
            fixed.recurrent.rank = fixed.recurrent.mix_rank = 0;
            fixed.layers = LayerSet::every(0, 3, 7);
            a.mixers.push(fixed);
          }),
  };
}

/// Mamba-1 with heads, RG-LRU and mLSTM.
inline std::vector<ModelCard> odd_scans() {
  return {
      odd("Mamba-1 with heads, norms of its parts and of each head of attention between them",
          [](Arch& a) {
            a.qk_norm = QkNorm::each_head_rms;
            a.norm = NormKind::rms_norm;
            a.norm_placement = NormPlacement::both;
            a.norms_per_layer = 4;
            LayerMixer scan;
            scan.attention = AttentionKind::none;
            scan.recurrent = {.kind = RecurrentKind::mamba,
                              .heads = 8,
                              .head_dim = 14,
                              .key_heads = 1,
                              .key_dim = 9,
                              .taps = 4,
                              .rank = 11,
                              .inner_norms = true,
                              .chunk = 16};
            scan.layers = LayerSet::every(0, 2, 7);
            a.mixers.push(scan);
          }),
      odd("RG-LRU beside attention in windows",
          [](Arch& a) {
            a.norm = NormKind::rms_norm;
            a.mlp = MlpKind::gated;
            a.activation = Activation::gelu_tanh;
            a.mlp_bias = a.attention_out_bias = true;
            a.local = {{100}, LayerSet::every(2, 3, 7)};
            LayerMixer lru;
            lru.attention = AttentionKind::none;
            lru.recurrent = {.kind = RecurrentKind::rg_lru,
                             .heads = 8,
                             .head_dim = 14,
                             .key_dim = 1,
                             .taps = 4,
                             .convolution_bias = true};
            lru.layers = LayerSet::all(7).filtered(a.local.layers, false);
            a.mixers.push(lru);
          }),
      odd("mLSTM alone",
          [](Arch& a) {
            a.attention = AttentionKind::none;
            a.norm = NormKind::rms_norm;
            a.mlp = MlpKind::gated;
            a.position = Position::none;
            a.recurrent = {
                .kind = RecurrentKind::mlstm, .heads = 8, .head_dim = 12, .key_heads = 8, .key_dim = 6, .chunk = 16};
          }),
  };
}

/// Layers with a recurrent state.
inline std::vector<ModelCard> odd_recurrences() { return joined({odd_linear_attention(), odd_rwkv(), odd_scans()}); }

/// Layers that reuse other layers' weights.
inline std::vector<ModelCard> odd_repeats() {
  return {
      odd("layers with windows and experts that run again behind the final norm, and a gate",
          [](Arch& a) {
            a.layers = 8;
            a.norm_placement = NormPlacement::both;
            a.norms_per_layer = 4;
            a.norm = NormKind::rms_norm;
            a.mlp = MlpKind::gated;
            a.local = {{100}, LayerSet::every(0, 2, 8)};
            a.moe = {.experts = 6, .top_k = 2, .width = 50, .layers = LayerSet::every(1, 2, 8)};
            a.repeats = {4, LayerSet::every(4, 1, 8), true};
            a.head.exit_gate = true;
          }),
      odd("attention to blocks that an indexer chooses, each layer twice",
          [](Arch& a) {
            a.layers = 8;
            a.norm = NormKind::rms_norm;
            a.indexer = {.kind = IndexerKind::blocks, .heads = 4, .width = 16, .top_k = 3, .block = 8};
            a.repeats = {.period = 4, .layers = LayerSet::every(4, 1, 8)};
          }),
      odd("a recurrence and attention, each twice in turn",
          [](Arch& a) {
            a.layers = 8;
            LayerMixer m;
            m.attention = AttentionKind::none;
            m.recurrent = {.kind = RecurrentKind::short_convolution, .heads = 96, .head_dim = 1, .taps = 3};
            m.layers = LayerSet::every(0, 2, 8);
            a.mixers.push(m);
            a.repeats.period = 2;
            for (const Count i : {2, 3, 6, 7}) a.repeats.layers.insert(i);
          }),
  };
}

/// Unusual arrangements of experts and residual streams.
inline std::vector<ModelCard> odd_blocks() {
  return {
      odd("residual streams under alternating updates, a low rank beside attention, shared keys and values",
          [](Arch& a) {
            a.qk_norm = QkNorm::per_head;
            a.value_norm = a.altup = true;
            a.streams = 3;
            a.laurel_rank = 5;
            a.norm = NormKind::rms_norm;
            a.norm_placement = NormPlacement::both;
            a.norms_per_layer = 4;
            a.mlp = MlpKind::gated;
            a.local = {{100}, LayerSet::every(0, 1, 4)};
            LayerMixer sharing;
            static_cast<Mixer&>(sharing) = a;
            sharing.shared_kv = true;
            sharing.reach.tokens = 100;
            sharing.layers = LayerSet::every(4, 1, 7);
            a.mixers.push(sharing);
            a.per_layer = {.rows = 333, .width = 10};
            a.tied_head = true;
          }),
      odd("experts beside a dense MLP, keys that are values",
          [](Arch& a) {
            a.qk_norm = QkNorm::per_head;
            a.value_norm = a.key_is_value = true;
            a.norm_placement = NormPlacement::both;
            a.norms_per_layer = 4;
            a.moe = {.experts = 6,
                     .top_k = 2,
                     .width = 50,
                     .router_scales = true,
                     .with_dense_mlp = true,
                     .layers = LayerSet::all(7)};
          }),
      odd("two attentions and two MLPs per layer beside experts, some of which return their input",
          [](Arch& a) {
            latent(a);
            a.block = BlockKind::shortcut;
            a.norms_per_layer = 4;
            a.mlp = MlpKind::gated;
            a.norm = NormKind::rms_norm;
            a.moe = {.experts = 10, .top_k = 3, .width = 50, .zero_experts = 5, .layers = LayerSet::all(7)};
          }),
  };
}

}  // namespace llmcalc::test
