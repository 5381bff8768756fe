#include "ask/request/idle.hpp"

namespace llmcalc::idle {
namespace {

using Text = std::string_view;

Text unless(bool has_effect, Text reason) { return has_effect ? Text() : reason; }

bool is_latent(const Request& r) { return r.model.arch.attention == AttentionKind::latent; }

constexpr Text without_experts = "is for models with experts, and this one has none; leave it out";

Text spread(const Request& r, bool spreads) {
  const bool has_effect = r.model.arch.has_experts() && (r.searches("--ep") || spreads);
  return unless(has_effect, "is about experts that are spread over ranks; add --ep");
}

}  // namespace

Text latent_attention(const Request& r) {
  return unless(is_latent(r), "is for latent attention, which this model does not have; leave it out");
}

Text latent_cache_row(const Request& r) {
  return unless(r.plan.kv_precision.uniform() || !is_latent(r) || r.plan.mla == Mla::expanded,
                "gives keys and values formats of their own, and latent attention caches one row for both; give one "
                "format");
}

Text media_encoders(const Request& r) {
  return unless(r.model.media_encoders.bytes() != Bytes(),
                "is for models with towers for images or sounds, and this one has none; leave it out");
}

Text mtp_modules(const Request& r) {
  return unless(r.model.arch.mtp.modules > 0 || r.plan.mtp == 0,
                "is for modules that predict further tokens (MTP), which this model does not have; leave it out");
}

Text gated_mlp(const Request& r) {
  return unless(r.model.arch.mlp == MlpKind::gated, "is for gated MLPs, which this model does not have; leave it out");
}

Text latent_recompute(const Request& r) {
  return unless(is_latent(r) || !selected_modules(r.plan).has(RecomputeModule::up),
                "up is for latent attention, which this model does not have; leave it out");
}

Text newton_schulz(const Request& r) {
  return unless(traits(r.plan.optimizer).orthogonalizes,
                "is for muon, whose iterations it counts; add --optimizer muon, or leave it out");
}

Text optimizer_flops(const Request& r) {
  return unless(traits(r.plan.optimizer).orthogonalizes || r.has(part::training),
                "changes FLOPs with muon alone; leave it out");
}

Text pipeline_of_one(const Request& r) {
  return unless(!r.gave("--pp") || ranks(r.layout, Group::pipeline) > 1,
                "changes nothing with --pp 1; give a higher --pp, or leave it out");
}

Text expert_tensor_ranks(const Request& r) {
  if (!r.model.arch.has_experts()) return without_experts;
  const bool differs = ranks(r.layout, Group::expert_tensor) != ranks(r.layout, Group::tensor);
  return unless(r.searches("--tp") || differs, "is as many as --tp anyway; leave it out");
}

Text expert_ranks(const Request& r) {
  return unless(r.model.arch.has_experts() || !r.searches_layouts || ranks(r.layout, Group::expert) == 1,
                without_experts);
}

Text expert_nodes(const Request& r) { return spread(r, ranks(r.layout, Group::expert) > 1); }

Text expert_load(const Request& r) { return spread(r, folds_experts(r.layout)); }

Text stored_scores(const Request& r) {
  return unless(r.plan.attention == AttentionImpl::naive,
                "is about the scores that naive attention keeps; add --attention naive");
}

}  // namespace llmcalc::idle
