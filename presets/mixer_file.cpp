#include "presets/mixer_file.hpp"

#include <fmt/format.h>

#include "calc/arch.hpp"
#include "presets/arch_check.hpp"
#include "text/names.hpp"

namespace llmcalc {

using json::Object;
using json::Value;

template <Named E>
E choice(const Object& o, std::string_view key) {
  const std::string text = o.word(key, choice_names<E>);
  if (const auto found = parse<E>(text)) return *found;
  throw InputError(
      fmt::format("{}: {}: expected {}, got {}", o.where(), in_quotes(key), one_of(choice_names<E>), in_quotes(text)));
}

template AttentionKind choice<AttentionKind>(const Object&, std::string_view);
template AttentionGate choice<AttentionGate>(const Object&, std::string_view);
template QkNorm choice<QkNorm>(const Object&, std::string_view);
template IndexerKind choice<IndexerKind>(const Object&, std::string_view);
template RecurrentKind choice<RecurrentKind>(const Object&, std::string_view);
template BlockKind choice<BlockKind>(const Object&, std::string_view);
template MlpKind choice<MlpKind>(const Object&, std::string_view);
template Activation choice<Activation>(const Object&, std::string_view);
template NormKind choice<NormKind>(const Object&, std::string_view);
template NormPlacement choice<NormPlacement>(const Object&, std::string_view);
template Position choice<Position>(const Object&, std::string_view);
template HeadKind choice<HeadKind>(const Object&, std::string_view);

namespace {

Count head_width(const Object& o, Count hidden, Count heads) {
  if (o.has("head_width")) return o.positive("head_width");
  if (hidden % heads != 0)
    throw InputError(
        fmt::format("{}: hidden {} is not a multiple of {} heads; set \"head_width\"", o.where(), hidden, heads));
  return hidden / heads;
}

void read_grouped(const Object& o, Count hidden, Mixer& m) {
  m.kv_heads = o.positive("kv_heads");
  m.head_dim = head_width(o, hidden, m.heads);
  m.value_dim = o.positive_or("value_width", 0);
  m.qk_norm = choice<QkNorm>(o, "qk_norm");
  m.attention_sinks = o.flag_or("sinks", false);
  m.bidirectional = o.flag_or("bidirectional", false);
  m.cross_attention = o.flag_or("cross_attention", false);
  m.value_norm = o.flag_or("value_norm", false);
  m.key_is_value = o.flag_or("key_is_value", false);
  m.shared_kv = o.flag_or("shared_kv", false);
  m.query_scale = o.flag_or("query_scale", false);
  m.latent.q_rank = o.count_or("q_rank", 0);
}

void read_latent(const Object& o, Mixer& m) {
  m.latent = {.q_rank = o.count("q_rank"),
              .kv_rank = o.positive("kv_rank"),
              .nope_dim = o.count("nope_width"),
              .rope_dim = o.count("rope_width"),
              .v_dim = o.positive("v_width")};
  if (m.latent.nope_dim > max_size || m.latent.rope_dim > max_size)
    throw InputError(fmt::format("{}: expected nope_width and rope_width of at most {}, got {} and {}", o.where(),
                                 max_size, m.latent.nope_dim, m.latent.rope_dim));
  m.kv_heads = m.heads;
  m.head_dim = m.latent.nope_dim + m.latent.rope_dim;
}

void read_compressed(const Object& o, Mixer& m) {
  m.kv_heads = 1;
  m.head_dim = o.positive("head_width");
  m.latent.q_rank = o.positive("q_rank");
  m.latent.rope_dim = o.count("rope_width");
  m.compressed = {.ratio = o.count_or("ratio", 0),
                  .overlap = o.flag_or("overlap", false),
                  .out_groups = o.positive("out_groups"),
                  .out_rank = o.positive("out_rank")};
  m.attention_sinks = o.flag_or("sinks", false);
}

Indexer read_indexer(const Object& o) {
  Indexer i{.kind = choice<IndexerKind>(o, "kind"),
            .heads = o.positive("heads"),
            .width = o.positive("width"),
            .top_k = o.positive("top_k")};
  if (i.kind == IndexerKind::blocks) i.block = o.positive("block");
  i.shared = o.flag_or("shared", false);
  o.refuse_unread();
  return i;
}

Value indexer_json(const Indexer& i) {
  Value v = {{"kind", name(i.kind)}, {"heads", i.heads}, {"width", i.width}, {"top_k", i.top_k}};
  if (i.kind == IndexerKind::blocks) v["block"] = i.block;
  if (i.shared) v["shared"] = true;
  return v;
}

}  // namespace

void read_attention(const Object& o, Count hidden, Mixer& m) {
  m.attention = choice<AttentionKind>(o, "kind");
  if (m.attention == AttentionKind::none) return o.refuse_unread();
  m.heads = o.positive("heads");
  m.qkv_bias = o.flag("qkv_bias");
  m.attention_out_bias = o.flag("out_bias");
  if (o.has("gate")) m.attention_gate = choice<AttentionGate>(o, "gate");
  if (o.has("indexer")) m.indexer = read_indexer(o.object("indexer"));
  if (m.attention == AttentionKind::compressed)
    read_compressed(o, m);
  else
    m.attention == AttentionKind::latent ? read_latent(o, m) : read_grouped(o, hidden, m);
  o.refuse_unread();
}

namespace {
bool has_convolution_bias(RecurrentKind k) {
  return k == RecurrentKind::mamba || k == RecurrentKind::mamba2 || k == RecurrentKind::short_convolution ||
         k == RecurrentKind::rg_lru;
}
bool has_taps(RecurrentKind k) {
  return k != RecurrentKind::rwkv6 && k != RecurrentKind::rwkv7 && k != RecurrentKind::mlstm;
}

/// Reads the sizes that are specific to the kind of recurrence.
void read_sizes(const Object& o, Recurrent& r) {
  switch (r.kind) {
    case RecurrentKind::none:
      throw InputError(o.where() + ": \"kind\" is none; omit the whole block instead");
    case RecurrentKind::gated_delta_net:
      r.key_heads = o.positive("key_heads");
      r.key_dim = o.positive("key_width");
      break;
    case RecurrentKind::kimi_delta:
      r.key_heads = r.heads;
      r.key_dim = r.head_dim;
      r.rank = o.positive("rank");
      r.full_rank_gate = o.flag_or("full_rank_gate", false);
      r.decays = o.count_or("decays", 0);
      break;
    case RecurrentKind::mamba:
      r.key_heads = 1;
      r.key_dim = o.positive("state");
      r.rank = o.positive("rank");
      r.inner_norms = o.flag_or("inner_norms", false);
      break;
    case RecurrentKind::mamba2:
      r.key_heads = o.positive("groups");
      r.key_dim = o.positive("state");
      r.gated_norm = o.flag("norm");
      break;
    case RecurrentKind::rwkv7:
      r.key_heads = r.heads;
      r.key_dim = r.head_dim;
      r.rank = o.positive("rank");
      r.step_rank = o.positive("step_rank");
      r.gate_rank = o.positive("gate_rank");
      r.value_rank = o.count_or("value_rank", 0);
      break;
    case RecurrentKind::short_convolution:
      break;
    case RecurrentKind::rg_lru:
      r.key_dim = 1;
      break;
    case RecurrentKind::rwkv6:
      r.key_heads = r.heads;
      r.key_dim = r.head_dim;
      r.mix_rank = o.count_or("mix_rank", 0);
      if (r.mix_rank > 0) r.rank = o.positive("rank");
      break;
    case RecurrentKind::mlstm:
      r.key_heads = r.heads;
      r.key_dim = o.positive("key_width");
      break;
  }
}
}  // namespace

Recurrent read_recurrent(const Object& o) {
  Recurrent r{.kind = choice<RecurrentKind>(o, "kind")};
  if (has_taps(r.kind)) r.taps = o.positive("taps");
  r.chunk = o.count_or("chunk", 0);
  r.state_bytes = o.positive_or("state_bytes", 4);
  const bool plain_mamba = r.kind == RecurrentKind::mamba && !o.has("head_width");
  const bool in_channels = plain_mamba || r.kind == RecurrentKind::short_convolution;
  r.heads = o.positive(in_channels ? "channels" : "heads");
  r.head_dim = in_channels ? 1 : o.positive("head_width");
  read_sizes(o, r);
  if (has_convolution_bias(r.kind)) r.convolution_bias = o.flag("convolution_bias");
  o.refuse_unread();
  return r;
}

Value attention_json(const Mixer& m) {
  Value v = {{"kind", name(m.attention)}};
  if (m.attention == AttentionKind::none) return v;
  v["heads"] = m.heads;
  if (m.attention == AttentionKind::latent) {
    v["q_rank"] = m.latent.q_rank;
    v["kv_rank"] = m.latent.kv_rank;
    v["nope_width"] = m.latent.nope_dim;
    v["rope_width"] = m.latent.rope_dim;
    v["v_width"] = m.latent.v_dim;
  } else if (m.attention == AttentionKind::compressed) {
    v["head_width"] = m.head_dim;
    v["q_rank"] = m.latent.q_rank;
    v["rope_width"] = m.latent.rope_dim;
    v["out_groups"] = m.compressed.out_groups;
    v["out_rank"] = m.compressed.out_rank;
    if (m.compressed.ratio > 0) v["ratio"] = m.compressed.ratio;
    if (m.compressed.overlap) v["overlap"] = true;
  } else {
    v["kv_heads"] = m.kv_heads;
    v["head_width"] = m.head_dim;
    if (m.value_dim > 0) v["value_width"] = m.value_dim;
    if (m.latent.q_rank > 0) v["q_rank"] = m.latent.q_rank;
  }
  v["qkv_bias"] = m.qkv_bias;
  v["out_bias"] = m.attention_out_bias;
  if (m.attention_gate != AttentionGate::none) v["gate"] = name(m.attention_gate);
  if (m.indexer.kind != IndexerKind::none) v["indexer"] = indexer_json(m.indexer);
  if (m.attention == AttentionKind::latent) return v;
  if (m.attention == AttentionKind::grouped) v["qk_norm"] = name(m.qk_norm);
  v["sinks"] = m.attention_sinks;
  if (m.bidirectional) v["bidirectional"] = true;
  if (m.cross_attention) v["cross_attention"] = true;
  if (m.value_norm) v["value_norm"] = true;
  if (m.key_is_value) v["key_is_value"] = true;
  if (m.shared_kv) v["shared_kv"] = true;
  if (m.query_scale) v["query_scale"] = true;
  return v;
}

Value recurrent_json(const Recurrent& r) {
  Value v = {{"kind", name(r.kind)}};
  const bool plain_mamba = r.kind == RecurrentKind::mamba && r.head_dim == 1;
  const bool in_channels = plain_mamba || r.kind == RecurrentKind::short_convolution;
  v[in_channels ? "channels" : "heads"] = r.heads;
  if (!in_channels) v["head_width"] = r.head_dim;
  if (r.kind == RecurrentKind::gated_delta_net) {
    v["key_heads"] = r.key_heads;
    v["key_width"] = r.key_dim;
  }
  if (r.kind == RecurrentKind::mlstm) v["key_width"] = r.key_dim;
  if (r.kind == RecurrentKind::mamba2) v["groups"] = r.key_heads;
  if (r.kind == RecurrentKind::mamba || r.kind == RecurrentKind::mamba2) v["state"] = r.key_dim;
  if (r.rank > 0) v["rank"] = r.rank;
  if (r.mix_rank > 0) v["mix_rank"] = r.mix_rank;
  if (r.step_rank > 0) v["step_rank"] = r.step_rank;
  if (r.gate_rank > 0) v["gate_rank"] = r.gate_rank;
  if (r.value_rank > 0) v["value_rank"] = r.value_rank;
  if (r.taps > 0) v["taps"] = r.taps;
  if (has_convolution_bias(r.kind)) v["convolution_bias"] = r.convolution_bias;
  if (r.kind == RecurrentKind::mamba2) v["norm"] = r.gated_norm;
  if (r.inner_norms) v["inner_norms"] = true;
  if (r.full_rank_gate) v["full_rank_gate"] = true;
  if (r.decays > 0) v["decays"] = r.decays;
  if (r.chunk > 0) v["chunk"] = r.chunk;
  if (r.state_bytes != 4) v["state_bytes"] = r.state_bytes;
  return v;
}

}  // namespace llmcalc
