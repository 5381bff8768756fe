#include "presets/mixer_check.hpp"

namespace llmcalc {

namespace {

void check_grouped(const Mixer& m, const Check& check) {
  check.size(m.kv_heads, "the number of KV heads");
  check.size(m.head_dim, "the head width");
  check.size(m.value_dim, "the width of the values", 0);
  check.that(m.heads % m.kv_heads == 0,
             fmt::format("{} heads cannot share {} KV heads evenly; heads must be a multiple of KV heads", m.heads,
                         m.kv_heads));
  check.size(mul(m.heads, m.head_dim), "the attention width (heads x head width)");
  check.size(m.attention_width(), "the total width of the values");
  check.that(!m.key_is_value || (m.value_norm && m.qk_norm != QkNorm::none && m.v_dim() == m.head_dim && !m.shared_kv),
             "key_is_value requires values as wide as keys, norms of both (value_norm and qk_norm) and no shared_kv");
  check.that(m.latent == Latent{.q_rank = m.latent.q_rank},
             "latent widths are set, but the attention kind is grouped; remove them");
  check.size(m.latent.q_rank, "the q_rank", 0);
  check.that(m.latent.q_rank == 0 || (m.qk_norm == QkNorm::none && !m.cross_attention),
             "low-rank queries (q_rank) have their own norm and exclude cross-attention; qk_norm must be \"none\"");
  check.that(!m.query_scale || m.shared_kv, "query_scale requires shared_kv; remove it");
}

void check_latent(const Mixer& m, const Check& check) {
  check.size(m.latent.q_rank, "the latent q_rank", 0);
  check.size(m.latent.kv_rank, "the latent kv_rank");
  check.size(m.latent.nope_dim, "the latent nope_width", 0);
  check.size(m.latent.rope_dim, "the latent rope_width", 0);
  check.size(m.latent.nope_dim + m.latent.rope_dim, "the latent nope_width + rope_width");
  check.size(m.latent.v_dim, "the latent v_width");
  check.size(mul(m.heads, m.latent.nope_dim + m.latent.rope_dim), "the width of all latent queries");
  check.size(mul(m.heads, m.latent.nope_dim + m.latent.v_dim), "the width of all latent keys and values");
  check.that(m.qk_norm == QkNorm::none, "latent attention has its own norms; qk_norm must be \"none\"");
}

void check_recurrent(const Recurrent& r, const Check& check) {
  check.size(r.heads, "the number of recurrence heads or channels");
  check.size(r.head_dim, "the width of the recurrence heads");
  check.size(r.width(), "the total width of the recurrence heads");
  const bool ranked = r.kind == RecurrentKind::rwkv7;
  const bool no_taps = ranked || r.kind == RecurrentKind::rwkv6 || r.kind == RecurrentKind::mlstm;
  check.size(r.taps, "the number of taps", no_taps ? 0 : 1, no_taps ? 0 : 1024);
  check.size(r.rank, "the recurrence's rank", ranked ? 1 : 0);
  check.size(r.mix_rank, "the rank of the recurrence's mixes", 0, r.kind == RecurrentKind::rwkv6 ? max_size : 0);
  check.size(r.step_rank, "the rank of the recurrence's learning rate", ranked ? 1 : 0, ranked ? max_size : 0);
  check.size(r.gate_rank, "the rank of the recurrence's gate", ranked ? 1 : 0, ranked ? max_size : 0);
  check.size(r.value_rank, "the rank of the recurrence's values", 0, ranked ? max_size : 0);
  check.size(r.chunk, "the recurrence's chunk", 0);
  check.size(r.decays, "the number of learned decays", 0);
  check.that(r.state_bytes == 2 || r.state_bytes == 4,
             fmt::format("state_bytes: expected 2 or 4 bytes per element of the state, got {}", r.state_bytes));
  if (r.kind == RecurrentKind::short_convolution || r.kind == RecurrentKind::rg_lru) return;
  check.size(r.key_heads, "the number of recurrence key heads or groups");
  check.size(r.key_dim, "the width of the recurrence keys or states");
  check.size(mul(r.key_heads, r.key_dim), "the total width of the recurrence keys");
  check.that(r.heads % r.key_heads == 0, fmt::format("{} recurrence heads cannot share {} key heads or groups "
                                                     "evenly; set a multiple",
                                                     r.heads, r.key_heads));
}

void check_compressed(const Mixer& m, const Check& check) {
  const Compressed& c = m.compressed;
  check.size(m.head_dim, "the head width");
  check.size(mul(m.heads, m.head_dim), "the attention width (heads x head width)");
  check.size(m.latent.q_rank, "the q_rank");
  check.size(m.latent.rope_dim, "the rope_width", 0, m.head_dim);
  check.size(c.ratio, "the number of tokens per pooled key", 0);
  check.size(c.out_rank, "the out_rank");
  check.that(c.out_groups >= 1 && m.heads % c.out_groups == 0,
             fmt::format("{} heads cannot be split evenly into {} out_groups; set a divisor", m.heads, c.out_groups));
  check.size(mul(c.out_groups, c.out_rank), "the total output width of the groups");
  check.that(c.ratio > 0 || !c.overlap, "overlap is true, but no tokens are pooled; set a ratio");
  check.that(!m.qkv_bias && !m.attention_out_bias && m.qk_norm == QkNorm::none,
             "compressed attention has no biases and has its own norms; \"qkv_bias\" and \"out_bias\" must be false");
  check.that(m.attention_gate == AttentionGate::none, "compressed attention has no gate; omit it");
}

void check_indexer(const Mixer& m, const Check& check) {
  const Indexer& i = m.indexer;
  check.size(i.heads, "the number of indexer heads");
  check.size(i.width, "the width of the indexer heads");
  check.size(mul(i.heads, i.width), "the total width of the indexer heads");
  check.size(i.top_k, "the number of keys or blocks that the indexer selects");
  const bool lightning = i.kind == IndexerKind::lightning;
  check.size(i.block, "the indexer's block", lightning ? 0 : 1, lightning ? 0 : max_size);
  check.size(i.selection().keys, "the number of keys that the indexer selects");
  const bool ranked = m.attention == AttentionKind::latent && m.latent.q_rank > 0;
  check.that(!lightning || ranked || m.compressed.ratio > 0,
             "a lightning indexer reads the low-rank queries; set \"kind\": \"latent\" with a q_rank or "
             "\"compressed\" with a ratio");
  check.that(lightning || m.attention == AttentionKind::grouped,
             "a block indexer requires grouped attention; set \"kind\": \"grouped\" or use a lightning indexer");
  check.that(!m.bidirectional && !m.cross_attention && !m.shared_kv,
             "an indexer selects among its own layer's keys up to the query; remove \"bidirectional\", "
             "\"cross_attention\" or \"shared_kv\"");
}

}  // namespace

void check_mixer(const Mixer& m, const Check& check) {
  if (m.attention != AttentionKind::none) check.size(m.heads, "the number of heads");
  if (m.attention == AttentionKind::latent) check_latent(m, check);
  if (m.attention == AttentionKind::grouped) check_grouped(m, check);
  if (m.attention == AttentionKind::compressed) check_compressed(m, check);
  if (m.recurrent.kind != RecurrentKind::none) check_recurrent(m.recurrent, check);
  if (m.indexer.kind != IndexerKind::none) check_indexer(m, check);
}

}  // namespace llmcalc
