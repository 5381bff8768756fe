#pragma once
/// Architectures for the engine's tests and benchmarks, and helpers for operator lists. Widths are distinct primes for
/// counts by hand, and powers of two for division across ranks.

#include <string>
#include <vector>

#include "calc/block/program.hpp"
#include "calc/cluster.hpp"
#include "calc/cost/cost.hpp"

namespace llmcalc::test {

/// D 13, 3 heads of width 5 over 1 KV head, MLP 17, vocabulary 19, 1 layer; LayerNorm, RoPE, no biases, untied head.
inline Arch prime_gqa() {
  Arch a;
  a.layers = 1;
  a.hidden = a.embedding_width = 13;
  a.vocabulary = 19;
  a.context = 64;
  a.heads = 3;
  a.kv_heads = 1;
  a.head_dim = 5;
  a.mlp_width = 17;
  return a;
}
inline Arch prime_gated() {
  Arch a = prime_gqa();
  a.mlp = MlpKind::gated;
  a.norm = NormKind::rms_norm;
  return a;
}
/// 7 experts of width 11, 2 per token, and 3 shared experts of width 2 (6 in total) with a gate.
inline Arch prime_moe() {
  Arch a = prime_gated();
  a.moe = {.experts = 7,
           .top_k = 2,
           .width = 11,
           .shared_experts = 3,
           .shared_width = 2,
           .shared_gate = true,
           .layers = LayerSet::all(1)};
  return a;
}
/// Low ranks 11 (queries) and 7 (keys and values); heads of width 5 + 2 and 3.
inline Arch prime_latent() {
  Arch a = prime_gated();
  a.attention = AttentionKind::latent;
  a.kv_heads = 3;
  a.latent = {.q_rank = 11, .kv_rank = 7, .nope_dim = 5, .rope_dim = 2, .v_dim = 3};
  return a;
}

/// Widths divisible by 8: D 64, 16 heads of width 8 over 8 KV heads, MLP 128, vocabulary 512, 3 layers, gated, RMSNorm.
inline Arch even() {
  Arch a;
  a.layers = 3;
  a.hidden = a.embedding_width = 64;
  a.vocabulary = 512;
  a.context = 4096;
  a.heads = 16;
  a.kv_heads = 8;
  a.head_dim = 8;
  a.mlp_width = 128;
  a.mlp = MlpKind::gated;
  a.norm = NormKind::rms_norm;
  return a;
}
inline Arch even_moe() {
  Arch a = even();
  a.moe = {.experts = 8, .top_k = 2, .width = 32, .shared_experts = 1, .shared_width = 16, .layers = LayerSet::all(3)};
  return a;
}
inline Arch even_latent() {
  Arch a = even();
  a.attention = AttentionKind::latent;
  a.kv_heads = 16;
  a.latent = {.q_rank = 24, .kv_rank = 32, .nope_dim = 16, .rope_dim = 8, .v_dim = 16};
  return a;
}
/// Latent attention to 3 tokens selected by 2 index heads of width 4; the last layer reuses the selection of the layer
/// before it.
inline Arch even_sparse() {
  Arch a = even_latent();
  a.indexer = {.kind = IndexerKind::lightning, .heads = 2, .width = 4, .top_k = 3};
  LayerMixer shared;
  static_cast<Mixer&>(shared) = a;
  shared.indexer.shared = true;
  shared.layers.insert(2);
  a.mixers.push(shared);
  return a;
}
/// Compressed attention with windows of 5 in three layers: without pooled keys; with overlapping keys of 2 tokens, 3 of
/// them selected by 2 index heads of width 4; with keys of 4 tokens. There are 2 residual streams.
inline Arch even_compressed() {
  Arch a = even();
  a.attention = AttentionKind::compressed;
  a.kv_heads = 1;
  a.latent = {.q_rank = 24, .rope_dim = 2};
  a.compressed = {.out_groups = 4, .out_rank = 10};
  a.streams = 2;
  LayerMixer chosen, pooled;
  static_cast<Mixer&>(chosen) = static_cast<Mixer&>(pooled) = a;
  chosen.compressed.ratio = 2;
  chosen.compressed.overlap = true;
  chosen.indexer = {.kind = IndexerKind::lightning, .heads = 2, .width = 4, .top_k = 3};
  pooled.compressed.ratio = 4;
  chosen.reach = pooled.reach = {5};
  chosen.layers.insert(1);
  pooled.layers.insert(2);
  a.mixers.push(chosen);
  a.mixers.push(pooled);
  a.local.reach = {5};
  a.local.layers.insert(0);
  return a;
}
/// Grouped attention to the query's own block and to 2 blocks of 3 tokens selected by 2 index heads of width 4.
inline Arch even_blocks() {
  Arch a = even();
  a.indexer = {.kind = IndexerKind::blocks, .heads = 2, .width = 4, .top_k = 2, .block = 3};
  return a;
}

/// Llama-2-7B, Llama-3.1-8B, Llama-3.1-70B, GPT-3 and Mixtral-8x7B as published.
inline Arch llama2_7b() {
  Arch a = even();
  a.layers = 32;
  a.hidden = a.embedding_width = 4096;
  a.vocabulary = 32000;
  a.heads = a.kv_heads = 32;
  a.head_dim = 128;
  a.mlp_width = 11008;
  return a;
}
inline Arch llama31_8b() {
  Arch a = llama2_7b();
  a.vocabulary = 128256;
  a.kv_heads = 8;
  a.mlp_width = 14336;
  return a;
}
inline Arch llama31_70b() {
  Arch a = llama31_8b();
  a.layers = 80;
  a.hidden = a.embedding_width = 8192;
  a.heads = 64;
  a.mlp_width = 28672;
  return a;
}
/// arXiv:2407.21783, table 3.
inline Arch llama31_405b() {
  Arch a = llama31_8b();
  a.layers = 126;
  a.hidden = a.embedding_width = 16384;
  a.heads = 128;
  a.mlp_width = 53248;
  return a;
}
inline Arch gpt3_175b() {
  Arch a;
  a.layers = 96;
  a.hidden = a.embedding_width = 12288;
  a.vocabulary = 50257;
  a.context = 2048;
  a.heads = a.kv_heads = 96;
  a.head_dim = 128;
  a.mlp_width = 49152;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = true;
  a.position = Position::learned;
  a.position_rows = 2048;
  a.tied_head = true;
  return a;
}
inline Arch mixtral_8x7b() {
  Arch a = llama31_8b();
  a.vocabulary = 32000;
  a.mlp_width = 0;
  a.moe = {.experts = 8, .top_k = 2, .width = 14336, .layers = LayerSet::all(32)};
  return a;
}

inline LayerKind first_kind(const Arch& a) { return *layer_kinds(a).begin(); }
inline OpList first_block(const Arch& a, const Step& s, const Layout& layout = {}) {
  return cut(block_ops(a, first_kind(a), s), layout);
}

/// Number of parameters, in all layers, of the operators whose names start with a prefix.
inline Count parameters_of(const Arch& a, std::string_view prefix) {
  Count n = 0;
  for (const LayerKind& kind : layer_kinds(a))
    for (const Op& op : block_ops(a, kind, {.training = true}))
      if (op.name.starts_with(prefix)) n += kind.count * learned(op.shape).total;
  return n;
}
/// The operator names in order. A collective appears as "+" and the name of the operator that reads its result or
/// produces its input.
inline std::string names(const OpList& ops) {
  std::string s;
  for (const Op& op : ops) {
    const bool collective_call = std::holds_alternative<Collective>(op.shape);
    s += (s.empty() ? "" : " ") + std::string(collective_call ? "+" : "") + std::string(op.name);
  }
  return s;
}

/// Shape of the operator with that name. Throws if there is no such operator.
template <typename S>
S shape_of(const OpList& ops, std::string_view name) {
  for (const Op& op : ops)
    if (op.name == name)
      if (const S* s = std::get_if<S>(&op.shape)) return *s;
  throw std::runtime_error("no operator " + std::string(name));
}

/// Devices with one 16-bit peak and one link between 8 of them.
inline Cluster device(double flops, double bandwidth, double link = 0, double latency = 0) {
  Device d;
  d.bandwidth = BytesPerSecond(bandwidth);
  d.memory = Bytes(Count{80} * 1000 * 1000 * 1000);
  d.peaks[static_cast<std::size_t>(Peak::bf16)] = FlopsPerSecond(flops);
  return cluster(d, {.ranks = 8, .bandwidth = BytesPerSecond(link), .latency = Seconds(latency)});
}

/// No module, each module separately, and all together.
inline std::vector<RecomputeModules> recomputed_modules() {
  std::vector<RecomputeModules> all{RecomputeModules()};
  RecomputeModules together;
  for (const auto& m : choices<RecomputeModule>) {
    all.emplace_back(m.value);
    together.add(m.value);
  }
  all.push_back(together);
  return all;
}

}  // namespace llmcalc::test
