#include "presets/header/tensor_group.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "presets/formats/weight_formats.hpp"
#include "presets/header/tensor_words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using Segments = std::vector<std::string>;

/// Dot-separated parts of a name, in lower case.
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

/// The second-to-last part of a name; "" if the name has only one part.
std::string before_last(const Segments& all) { return all.size() < 2 ? "" : all[all.size() - 2]; }

/// Whether the tensor is a buffer: a causal mask that GPT-2 and GPT-NeoX store, "h.0.attn.bias", or a constant of xIELU
/// (hf apertus, activations.py), "mlp.act_fn.beta".
bool is_buffer(const Segments& all) {
  const std::string before = before_last(all), &last = all.back();
  if (before == "act_fn") return last == "beta" || last == "eps";
  return last == "bias" && (before == "attn" || before == "attention");
}

/// Whether the tensor is the MLP's second matrix in BERT, "layer.0.output.dense.weight". The name of attention's
/// output matrix has "attention" before "output".
bool is_dense_output(const Segments& all) {
  return all.size() > 3 && all[all.size() - 3] == "output" && before_last(all) == "dense";
}

/// Place of the tensors that accompany Gemma 4's router: a norm ("router.scale"), and a factor per expert, which is
/// counted with the MLP.
TensorPlace place_beside_router(const Segments& all) {
  if (before_last(all) != "router") return TensorPlace::unknown;
  return all.back() == "scale"              ? TensorPlace::norm
         : all.back() == "per_expert_scale" ? TensorPlace::mlp
                                            : TensorPlace::unknown;
}

/// Whether the tensor is RWKV-6's gate on the heads' output, "attention.gate.weight", which is not a router.
bool is_gate_of_heads(const Segments& all) {
  return all.size() > 2 && before_last(all) == "gate" && all[all.size() - 3] == "attention";
}

/// Whether the tensor computes a reranker's labels in GGUF, "cls.output.weight".
bool is_label_output(const Segments& all) { return all.size() > 1 && all[0] == "cls" && all[1] == "output"; }

/// Whether the tensor is the bias of ModernBERT's MLM head, "decoder.bias", which is outside any stack of
/// layers.
bool is_table_output(const Segments& all) { return all.size() == 2 && all[0] == "decoder"; }

/// Whether the tensor is AFMoE's gate on attention's output, "self_attn.gate_proj", which has the same name as an MLP's
/// gate.
bool is_gate_of_attention(const Segments& all) {
  return all.size() > 2 && all[all.size() - 3] == "self_attn" && before_last(all) == "gate_proj";
}

/// Place indicated by the parts of a name, ignoring parts that mark an MTP tensor.
TensorPlace place_in_layer(const Segments& all) {
  TensorPlace first = place_of_first(all.front());
  for (const std::string& s : all)
    if (const TensorPlace p = place_of(s); p != TensorPlace::prediction) first = std::min(first, p);
  if (first == TensorPlace::mlp_of_mixer && is_gate_of_attention(all)) return TensorPlace::attention;
  return is_dense_output(all) ? std::min(first, TensorPlace::mlp) : first;
}

TensorPlace place_in(const Segments& all, Count layers) {
  if (is_buffer(all)) return TensorPlace::buffer;
  if (is_label_output(all)) return TensorPlace::other_head;
  if (is_table_output(all)) return TensorPlace::lm_head;
  if (const TensorPlace p = place_beside_router(all); p != TensorPlace::unknown) return p;
  if (is_gate_of_heads(all)) return TensorPlace::attention;
  TensorPlace first = place_in_layer(all);
  for (const std::string& s : all)
    if (place_of(s) == TensorPlace::prediction) first = std::min(first, TensorPlace::prediction);
  const auto index = std::find_if(all.begin(), all.end(), [](const std::string& s) { return whole_number(s); });
  if (first > TensorPlace::vision && layers > 0 && index != all.end() && *whole_number(*index) >= layers)
    return TensorPlace::prediction;
  return first;
}

/// Whether the tensor is a router's correction bias, or data of a quantized matrix other than its values: scales,
/// zeros, indices, states.
bool is_besides(const Segments& all) {
  static constexpr std::array<std::string_view, 25> last{"router_bias",
                                                         "expert_bias",
                                                         "e_score_correction_bias",
                                                         "exp_probs_b",
                                                         "weight_scale",
                                                         "weight_scale_inv",
                                                         "weight_scale_2",
                                                         "input_scale",
                                                         "scale",
                                                         "scales",
                                                         "biases",  // in MLX
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
  if (end == "bias" && before_last(all) == "gate") return true;  // in DeepSeek's original files
  if (is_last(end) || end.ends_with("_scales") || end.starts_with("bitsandbytes")) return true;
  return all.size() > 1 && is_last(all[all.size() - 2]);
}

/// Whether the tensor packs several values per element.
bool is_packed(const Segments& all) {
  const std::string& end = all.back();
  return end == "qweight" || end == "weight_packed" || end.ends_with("_blocks") || end == "w_q" || end == "trellis";
}

TensorGroup group(std::optional<Component> c, std::string_view name) { return {.component = c, .name = name}; }
TensorGroup group(Component c) { return group(c, component_name(c)); }

TensorGroup group_at(TensorPlace p) {
  switch (p) {
    case TensorPlace::buffer:
      return group(std::nullopt, "buffers");
    case TensorPlace::rotary:
    case TensorPlace::position:
      return group(Component::position);
    case TensorPlace::vision:
      return group(std::nullopt, media_encoders_group);
    case TensorPlace::prediction:
      return group(std::nullopt, prediction_group);
    case TensorPlace::norm:
      return group(Component::norm);
    case TensorPlace::router:
      return group(Component::router);
    case TensorPlace::shared_experts:
      return group(Component::shared_experts);
    case TensorPlace::experts:
      return group(Component::experts);
    case TensorPlace::embedding:
      return group(Component::embedding);
    case TensorPlace::lm_head:
      return group(Component::lm_head);
    case TensorPlace::attention:
      return group(Component::attention);
    case TensorPlace::mlp_of_mixer:
    case TensorPlace::mlp:
      return group(Component::mlp);
    case TensorPlace::other_head:
      return group(std::nullopt, "other heads");
    case TensorPlace::unknown:
      return group(std::nullopt, unknown_group);
  }
  return group(std::nullopt, unknown_group);
}

/// Component of an MTP module's tensor. The module's head is under "shared_head" (DeepSeek-V3, Step 3.5; in GGUF
/// "shared_head_head"). Tensors whose names indicate no other place belong to the projection that combines a hidden
/// state and a token's embedding.
std::optional<Component> component_of_module(const Segments& all) {
  static constexpr std::array<std::string_view, 2> heads{"shared_head", "shared_head_head"};
  const TensorPlace p = place_in_layer(all);
  if (p != TensorPlace::unknown) return group_at(p).component;
  const bool is_head = std::any_of(all.begin(), all.end(), [](const std::string& s) {
    return std::find(heads.begin(), heads.end(), s) != heads.end();
  });
  return is_head ? Component::lm_head : Component::embedding;
}

}  // namespace

TensorGroup tensor_group(std::string_view tensor, Count layers) {
  const Segments all = segments_of(tensor);
  const TensorPlace p = place_in(all, layers);
  TensorGroup g = group_at(p);
  if (p == TensorPlace::prediction) g.of_modules = component_of_module(all);
  g.parameter = p == TensorPlace::norm || (p != TensorPlace::rotary && !is_besides(all));
  g.packed = is_packed(all);
  return g;
}

Count first_predicting_layer(const Checkpoint& c) {
  Count first = 0;
  for (const TensorsOfType& k : c.tensors.by_type()) {
    const std::string_view name = k.first->name;
    if (name.find("eh_proj") == std::string_view::npos) continue;
    const Count layer = layer_index(name).value_or(0);
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
