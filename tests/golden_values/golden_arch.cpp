#include <cmath>

#include "tests/golden_values/golden_rows.hpp"

namespace llmcalc::golden {
namespace {

Latent latent(const json::Object& m) {
  return {.q_rank = m.count("q_rank"),
          .kv_rank = m.count("kv_rank"),
          .nope_dim = m.count("d_nope"),
          .rope_dim = m.count("d_rope"),
          .v_dim = m.count("d_v")};
}

/// The golden values count a stored router correction bias as parameters. An Arch treats it as a buffer, so it becomes
/// the router's own bias, which has the same count.
Moe moe(const json::Object& m, Count layers) {
  return {.experts = m.count("n_experts"),
          .top_k = m.count("top_k"),
          .width = m.count("d_ff_expert"),
          .shared_experts = m.count("n_shared"),
          .shared_width = m.count("d_ff_shared"),
          .shared_gate = m.flag("shared_gate"),
          .router_bias = m.flag("router_bias"),
          .layers = LayerSet::every(m.count("first_dense"), 1, layers)};
}

void read_attention(Arch& a, const json::Object& m) {
  a.heads = m.count("n_heads");
  a.kv_heads = m.count("n_kv_heads");
  a.head_dim = m.count("d_head");
  a.attention =
      choice<AttentionKind>(m, "attention", {{"gqa", AttentionKind::grouped}, {"mla", AttentionKind::latent}});
  if (m.has("mla")) a.latent = latent(m.object("mla"));
  a.qk_norm =
      choice<QkNorm>(m, "qk_norm", {{"none", QkNorm::none}, {"per_head", QkNorm::per_head}, {"full", QkNorm::full}});
  a.qkv_bias = m.flag("qkv_bias");
  a.attention_out_bias = m.flag("attn_out_bias");
}

void read_norms(Arch& a, const json::Object& m) {
  a.norm = choice<NormKind>(m, "norm", {{"layernorm", NormKind::layer_norm}, {"rmsnorm", NormKind::rms_norm}});
  a.norms_per_layer = m.count("norms_per_layer");
  if (a.norms_per_layer == 4) a.norm_placement = NormPlacement::both;
  if (a.norms_per_layer == 1) a.block = BlockKind::parallel;
  a.final_norm = m.flag("final_norm");
  a.embedding_norm = m.flag("embed_norm");
}

}  // namespace

double real(const json::Object& in, std::string_view key) {
  if (!in.has(key)) throw InputError(in.where() + ": \"" + std::string(key) + "\" is missing");
  return in.number_or(key, 0);
}

Arch arch(const json::Object& m) {
  Arch a;
  a.layers = m.count("n_layers");
  a.vocabulary = m.count("vocab");
  a.hidden = a.embedding_width = m.count("d_model");
  read_attention(a, m);
  read_norms(a, m);
  a.mlp = choice<MlpKind>(m, "mlp", {{"plain", MlpKind::plain}, {"glu", MlpKind::gated}});
  a.mlp_width = m.count("d_ff");
  a.mlp_bias = m.flag("mlp_bias");
  if (m.has("moe")) a.moe = moe(m.object("moe"), a.layers);
  a.position = choice<Position>(m, "pos",
                                {{"learned", Position::learned}, {"rope", Position::rope}, {"alibi", Position::alibi}});
  a.position_rows = m.count("max_pos");
  a.tied_head = m.flag("tied");
  a.head_bias = m.flag("head_bias");
  return a;
}

}  // namespace llmcalc::golden
