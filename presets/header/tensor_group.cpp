#include "presets/header/tensor_group.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <vector>

#include "presets/weight_formats.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using Segments = std::vector<std::string>;

/// The dotted parts of a name, in lower case.
Segments segments_of(std::string_view name) {
  Segments out;
  for (std::size_t from = 0;;) {
    const std::size_t dot = name.find('.', from);
    out.push_back(lower(name.substr(from, dot == std::string_view::npos ? dot : dot - from)));
    if (dot == std::string_view::npos) return out;
    from = dot + 1;
  }
}

std::optional<Count> whole_number(std::string_view text) {
  Count n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  const bool whole = failed == std::errc() && end == text.data() + text.size() && n >= 0;
  return whole ? std::optional(n) : std::nullopt;
}

/// Groups in the order in which they are looked for: the experts' norm is a norm, and the experts' router a router.
enum class Place : std::uint8_t {
  buffer,
  rotary,
  vision,
  prediction,
  norm,
  router,
  shared_experts,
  experts,
  position,
  embedding,
  lm_head,
  mlp_of_mixer,
  attention,
  mlp,
  unknown
};

constexpr std::array<std::pair<std::string_view, Place>, 78> words{{
    {"inv_freq", Place::buffer},
    {"masked_bias", Place::buffer},
    {"rope_freqs", Place::rotary},
    {"rope_factors_long", Place::rotary},
    {"rope_factors_short", Place::rotary},
    {"vision_tower", Place::vision},
    {"vision_model", Place::vision},
    {"vision_backbone", Place::vision},
    {"visual", Place::vision},
    {"multi_modal_projector", Place::vision},
    {"mm_projector", Place::vision},
    {"embed_vision", Place::vision},
    {"embed_audio", Place::vision},
    {"audio_tower", Place::vision},
    {"v", Place::vision},
    {"mm", Place::vision},
    {"mtp", Place::prediction},
    {"nextn", Place::prediction},
    {"ln_1", Place::norm},
    {"ln_2", Place::norm},
    {"ln_f", Place::norm},
    {"ln_attn", Place::norm},
    {"ln_mlp", Place::norm},
    {"router", Place::router},
    {"gate", Place::router},
    {"shared_expert_gate", Place::router},
    {"e_score_correction_bias", Place::router},
    {"ffn_gate_inp", Place::router},
    {"ffn_gate_inp_shexp", Place::router},
    {"exp_probs_b", Place::router},
    {"shared_expert", Place::shared_experts},
    {"shared_experts", Place::shared_experts},
    {"shared_mlp", Place::shared_experts},
    {"experts", Place::experts},
    {"block_sparse_moe", Place::experts},
    {"wpe", Place::position},
    {"embed_positions", Place::position},
    {"position_embeddings", Place::position},
    {"position_embd", Place::position},
    {"embed_tokens", Place::embedding},
    {"wte", Place::embedding},
    {"word_embeddings", Place::embedding},
    {"tok_embeddings", Place::embedding},
    {"embed_in", Place::embedding},
    {"token_embd", Place::embedding},
    {"token_types", Place::embedding},
    {"project_in", Place::embedding},
    {"project_out", Place::embedding},
    {"lm_head", Place::lm_head},
    {"embed_out", Place::lm_head},
    {"output_layer", Place::lm_head},
    {"up_proj", Place::mlp_of_mixer},
    {"down_proj", Place::mlp_of_mixer},
    {"gate_proj", Place::mlp_of_mixer},
    {"self_attn", Place::attention},
    {"attn", Place::attention},
    {"attention", Place::attention},
    {"self_attention", Place::attention},
    {"linear_attn", Place::attention},
    {"mamba", Place::attention},
    {"mixer", Place::attention},
    {"short_conv", Place::attention},
    {"conv", Place::attention},
    {"q_proj", Place::attention},
    {"k_proj", Place::attention},
    {"v_proj", Place::attention},
    {"o_proj", Place::attention},
    {"mlp", Place::mlp},
    {"feed_forward", Place::mlp},
    {"ffn", Place::mlp},
    {"fc1", Place::mlp},
    {"fc2", Place::mlp},
    {"w1", Place::mlp},
    {"w2", Place::mlp},
    {"w3", Place::mlp},
    {"c_fc", Place::mlp},
    {"dense_h_to_4h", Place::mlp},
    {"dense_4h_to_h", Place::mlp},
}};

/// The place that one part of a name tells.
Place place_of(const std::string& segment) {
  static const std::unordered_map<std::string_view, Place> known(words.begin(), words.end());
  if (const auto at = known.find(segment); at != known.end()) return at->second;
  if (segment.find("norm") != std::string::npos) return Place::norm;
  if (segment.ends_with("_shexp")) return Place::shared_experts;
  if (segment.ends_with("_exps")) return Place::experts;
  if (segment.starts_with("attn_") || segment.starts_with("ssm_") || segment.starts_with("shortconv"))
    return Place::attention;
  return segment.starts_with("ffn_") ? Place::mlp : Place::unknown;
}

/// The causal mask that GPT-2 and GPT-NeoX store: "h.0.attn.bias".
bool is_mask(const Segments& all) {
  if (all.size() < 2 || all.back() != "bias") return false;
  const std::string& before = all[all.size() - 2];
  return before == "attn" || before == "attention";
}

Place place_of(const Segments& all, Count layers) {
  Place first = Place::unknown;
  for (const std::string& s : all) first = std::min(first, place_of(s));
  const bool head = all.front() == "output" || all.front() == "head";
  if (head) first = std::min(first, Place::lm_head);
  if (is_mask(all)) return Place::buffer;
  const auto index = std::find_if(all.begin(), all.end(), [](const std::string& s) { return whole_number(s); });
  if (first > Place::vision && layers > 0 && index != all.end() && *whole_number(*index) >= layers)
    return Place::prediction;
  return first;
}

/// A router's correction bias, and what quantised matrices store besides their numbers: scales, zeros, indices, states.
bool is_besides(const Segments& all) {
  static constexpr std::array<std::string_view, 22> last{"e_score_correction_bias",
                                                         "exp_probs_b",
                                                         "weight_scale",
                                                         "weight_scale_inv",
                                                         "weight_scale_2",
                                                         "input_scale",
                                                         "scale",
                                                         "scales",
                                                         "k_scale",
                                                         "v_scale",
                                                         "weight_shape",
                                                         "weight_g_idx",
                                                         "weight_zero_point",
                                                         "qzeros",
                                                         "weight_global_scale",
                                                         "input_global_scale",
                                                         "g_idx",
                                                         "absmax",
                                                         "quant_map",
                                                         "scb",
                                                         "nested_absmax",
                                                         "nested_quant_map"};
  const auto is_last = [&](const std::string& s) { return std::find(last.begin(), last.end(), s) != last.end(); };
  const std::string& end = all.back();
  if (is_last(end) || end.ends_with("_scales") || end.starts_with("bitsandbytes")) return true;
  return all.size() > 1 && is_last(all[all.size() - 2]);
}

/// Matrices that hold several numbers in one.
bool is_packed(const Segments& all) {
  const std::string& end = all.back();
  return end == "qweight" || end == "weight_packed" || end.ends_with("_blocks") || end == "w_q" || end == "trellis";
}

TensorGroup group(std::optional<Component> c, std::string_view name) { return {c, name, true, false}; }
TensorGroup group(Component c) { return group(c, component_name(c)); }

TensorGroup group_at(Place p) {
  switch (p) {
    case Place::buffer:
      return group(std::nullopt, "buffers");
    case Place::rotary:
    case Place::position:
      return group(Component::position);
    case Place::vision:
      return group(std::nullopt, "vision and audio");
    case Place::prediction:
      return group(std::nullopt, "prediction layers");
    case Place::norm:
      return group(Component::norm);
    case Place::router:
      return group(Component::router);
    case Place::shared_experts:
      return group(Component::shared_experts);
    case Place::experts:
      return group(Component::experts);
    case Place::embedding:
      return group(Component::embedding);
    case Place::lm_head:
      return group(Component::lm_head);
    case Place::attention:
      return group(Component::attention);
    case Place::mlp_of_mixer:
    case Place::mlp:
      return group(Component::mlp);
    case Place::unknown:
      return group(std::nullopt, unknown_group);
  }
  return group(std::nullopt, unknown_group);
}

}  // namespace

TensorGroup tensor_group(std::string_view tensor, Count layers) {
  const Segments all = segments_of(tensor);
  const Place p = place_of(all, layers);
  TensorGroup g = group_at(p);
  g.parameter = p != Place::rotary && !is_besides(all);
  g.packed = is_packed(all);
  return g;
}

Count first_predicting_layer(const Checkpoint& c) {
  Count first = 0;
  for (const CheckpointTensor& t : c.tensors) {
    if (t.name.find("eh_proj") == std::string::npos) continue;
    const Count layer = layer_index(t.name).value_or(0);
    first = first == 0 ? layer : std::min(first, layer);
  }
  return first;
}

std::optional<Count> layer_index(std::string_view tensor) {
  for (const std::string& s : segments_of(tensor))
    if (const auto n = whole_number(s)) return n;
  return std::nullopt;
}

}  // namespace llmcalc
