#include "ask/request/options/idle.hpp"

namespace llmcalc::idle {
namespace {

using Text = std::string_view;

Text unless(bool has_effect, Text reason) { return has_effect ? Text() : reason; }

bool is_latent(const Request& r) { return r.model.arch.attention == AttentionKind::latent; }

constexpr Text without_experts = "applies to models with experts, and this one has none; omit it";

Text spread(const Request& r, bool spreads) {
  const bool has_effect = r.model.arch.has_experts() && (r.searches("--ep") || spreads);
  return unless(has_effect, "applies to experts sharded over ranks; add --ep");
}

}  // namespace

Text latent_attention(const Request& r) {
  return unless(is_latent(r), "applies to latent attention, which this model does not have; omit it");
}

Text latent_cache_row(const Request& r) {
  return unless(
      r.plan.kv_precision.uniform() || !is_latent(r) || r.plan.mla == Mla::expanded,
      "sets separate formats for keys and values, but latent attention caches one row for both; specify one format");
}

Text media_encoders(const Request& r) {
  return unless(r.model.media_encoders.bytes() != Bytes(),
                "applies to models with vision or audio encoders, and this one has none; omit it");
}

Text mtp_modules(const Request& r) {
  return unless(r.model.arch.mtp.modules > 0 || r.plan.mtp == 0,
                "applies to multi-token prediction (MTP) modules, which this model does not have; omit it");
}

Text gated_mlp(const Request& r) {
  return unless(r.model.arch.mlp == MlpKind::gated, "applies to gated MLPs, which this model does not have; omit it");
}

Text latent_recompute(const Request& r) {
  return unless(is_latent(r) || !selected_modules(r.plan).has(RecomputeModule::up),
                "up applies to latent attention, which this model does not have; omit it");
}

Text newton_schulz(const Request& r) {
  return unless(traits(r.plan.optimizer).orthogonalizes,
                "sets the iterations of muon; add --optimizer muon, or omit it");
}

Text optimizer_flops(const Request& r) {
  return unless(traits(r.plan.optimizer).orthogonalizes || r.has(part::training),
                "affects FLOPs only with muon; omit it");
}

Text pipeline_of_one(const Request& r) {
  return unless(!r.gave("--pp") || ranks(r.layout, Group::pipeline) > 1,
                "has no effect with --pp 1; raise --pp, or omit it");
}

Text expert_tensor_ranks(const Request& r) {
  if (!r.model.arch.has_experts()) return without_experts;
  const bool differs = ranks(r.layout, Group::expert_tensor) != ranks(r.layout, Group::tensor);
  return unless(r.searches("--tp") || differs, "equals --tp, which is the default; omit it");
}

Text expert_ranks(const Request& r) {
  return unless(r.model.arch.has_experts() || !r.searches_layouts || ranks(r.layout, Group::expert) == 1,
                without_experts);
}

Text expert_nodes(const Request& r) { return spread(r, ranks(r.layout, Group::expert) > 1); }

Text dispatcher(const Request& r) { return spread(r, ranks(r.layout, Group::expert) > 1); }

Text expert_load(const Request& r) { return spread(r, folds_experts(r.layout)); }

Text stored_scores(const Request& r) {
  return unless(r.plan.attention == AttentionImpl::naive,
                "applies to scores that naive attention saves for backward; add --attention naive");
}

}  // namespace llmcalc::idle
