#include "presets/header/model_groups.hpp"

#include <algorithm>
#include <array>

#include "presets/formats/weight_formats.hpp"

namespace llmcalc {

namespace {

/// Whether `part` is one of the dot-separated parts of the name.
bool has_part(std::string_view name, std::string_view part) {
  for (std::size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

template <std::size_t N>
bool has_any(std::string_view name, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return has_part(name, part); });
}

/// Whether the tensor belongs to T5's decoder, judging by its prefix in Hugging Face's files or in GGUF.
bool is_of_decoder(std::string_view name) {
  const bool of_table = name == "decoder.bias" || name == "decoder.weight";  // names in ModernBERT
  return !of_table && (name.starts_with("decoder.") || name.starts_with("dec."));
}

/// Number of encoder layers before a decoder. Only the decoder has cross-attention.
Count layers_of_encoder(const Arch& a) {
  if (!a.is_encoder_decoder()) return 0;
  Count first = a.layers;
  for (const LayerMixer& m : a.mixers)
    if (m.cross_attention) first = std::min(first, m.layers.first());
  return first;
}

bool is_bias_of_masked_head(std::string_view name) {
  return name.ends_with("predictions.bias") || name == "lm_head.bias";
}

/// Whether the tensor belongs to a head or to a head's norms.
bool is_of_head(std::string_view name, const TensorGroup& g) {
  static constexpr std::array<std::string_view, 4> heads{"cls", "predictions", "lm_head", "vocab_layer_norm"};
  return g.component == Component::lm_head || (g.component == Component::norm && has_any(name, heads));
}

/// Whether the tensor belongs to an MLP parallel to experts. In Grok 2, which has no dense layers, such an MLP's
/// tensors have the names of a dense MLP.
bool is_shared_expert(const Arch& a, std::string_view name) {
  static constexpr std::array<std::string_view, 6> matrices{"gate_proj", "up_proj", "down_proj",
                                                            "ffn_gate",  "ffn_up",  "ffn_down"};
  return a.moe.shared_experts > 0 && a.moe.layers.size() == a.layers && a.mlp_width == 0 && has_any(name, matrices);
}

/// Whether the tensor belongs to a head that the model's class does not have. A file contains the heads of the class
/// with which the model was trained.
bool is_of_other_class(std::string_view name, const ModelHead& head) {
  if (has_part(name, "pooler")) return !head.pooler;
  if (has_part(name, "seq_relationship")) return !head.sentence_pair;
  return !head.has_logits();
}

}  // namespace

ModelGroups::ModelGroups(const Checkpoint& c, const Arch& a)
    : arch_(a), kinds_(layer_kinds(a)), encoder_layers_(layers_of_encoder(a)), predicting_(first_predicting_layer(c)) {
  for (const TensorsOfType& k : c.tensors.by_type()) {
    shared_table_ = shared_table_ || k.first->name == "shared.weight";
    own_bias_ = own_bias_ || is_bias_of_masked_head(k.first->name);
  }
}

/// Component of the norm and factors of Gemma 4's router, by their names in GGUF (llama.cpp, conversion/gemma.py). In
/// other models, these names denote the scales of a quantized matrix.
std::optional<Component> ModelGroups::router_part(std::string_view name) const {
  if (!arch_.moe.router_scales) return std::nullopt;
  if (name.ends_with(".ffn_gate_inp.scale")) return Component::norm;
  return name.ends_with(".ffn_down_exps.scale") ? std::optional(Component::mlp) : std::nullopt;
}

std::optional<Count> ModelGroups::layer(const CheckpointTensor& t) const {
  const auto layer = layer_index(t.name);
  if (!layer || *layer > max_layers) return layer;
  return is_of_decoder(t.name) ? *layer + encoder_layers_ : *layer;
}

const Mixer* ModelGroups::mixer(const CheckpointTensor& t) const {
  const auto at = layer(t);
  return at && *at < arch_.layers ? &arch_.mixer(kinds_[kind_index(kinds_, *at)].mixer) : nullptr;
}

std::optional<std::string_view> ModelGroups::unread(const CheckpointTensor& t, const TensorGroup& g) const {
  static constexpr std::array<std::string_view, 6> keys_and_values{"k_proj", "v_proj", "k_norm",
                                                                   "attn_k", "attn_v", "attn_k_norm"};
  static constexpr std::array<std::string_view, 2> query_and_key_norms{"attn_q_norm", "attn_k_norm"};
  static constexpr std::array<std::string_view, 3> first_values{"time_mix_v0", "time_mix_v1", "time_mix_v2"};
  if (arch_.is_encoder() && is_of_decoder(t.name)) return "decoder omitted by the model class";
  if (is_of_head(t.name, g)) {
    if (is_of_other_class(t.name, arch_.head)) return "heads omitted by the model class";
    const bool table = t.type->shape == std::vector<Count>{arch_.vocabulary, arch_.embedding_width};
    if (arch_.tied_head && (table || (own_bias_ && t.name.ends_with("decoder.bias"))))
      return "head tied to the token embedding";
  }
  if (shared_table_ && has_part(t.name, "embed_tokens")) return "copies of the token embedding";
  const Mixer* m = mixer(t);
  if (m == nullptr) return std::nullopt;
  if (m->qk_norm == QkNorm::weight_free && has_any(t.name, query_and_key_norms))
    return "factors in place of weight-free norms";
  if (m->shared_kv && has_any(t.name, keys_and_values)) return "keys and values of layers with cross-layer sharing";
  if (m->recurrent.kind == RecurrentKind::rwkv7 && m->recurrent.value_rank == 0 && has_any(t.name, first_values))
    return "mixed values of a layer without value_rank";
  return std::nullopt;
}

TensorGroup ModelGroups::of_modules(const CheckpointTensor& t, TensorGroup g) const {
  const bool is_table = t.type->shape == std::vector<Count>{arch_.vocabulary, arch_.hidden};
  const bool own = g.of_modules == Component::lm_head ? arch_.mtp.own_head : arch_.mtp.own_embedding;
  if (arch_.mtp.modules > 0 && (!is_table || own)) return g;
  if (arch_.mtp.modules > 0) g.name = "copies of the token embedding and head in MTP modules";
  g.of_modules = std::nullopt;
  return g;
}

TensorGroup ModelGroups::of(const CheckpointTensor& t) const {
  TensorGroup g = tensor_group(t.name, predicting_);
  if (g.of_modules) return of_modules(t, g);
  if (!g.component) return g;
  if (const auto part = router_part(t.name)) return {.component = *part, .name = component_name(*part)};
  // Granite 4.0 calls a dense MLP "shared_mlp" (hf granitemoehybrid), even if there are no experts.
  if (g.component == Component::shared_experts && !arch_.has_experts()) {
    g.component = Component::mlp;
    g.name = component_name(Component::mlp);
  }
  if (g.component == Component::mlp && is_shared_expert(arch_, t.name)) {
    g.component = Component::shared_experts;
    g.name = component_name(Component::shared_experts);
  }
  if (const auto why = unread(t, g)) {
    g.component = std::nullopt;
    g.name = *why;
  }
  return g;
}

}  // namespace llmcalc
