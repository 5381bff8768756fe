#include "evidence/convert/row_arch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "calc/parameters.hpp"
#include "evidence/convert/attention_layers.hpp"
#include "evidence/convert/inference/inference_row.hpp"
#include "evidence/convert/row_preset.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/names/words.hpp"
#include "presets/arch_check.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool mentions(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// Applies Llama's conventions to a model with gated MLPs, and GPT's conventions to one with plain MLPs.
void follow_custom(Arch& a, bool gated) {
  a.mlp = gated ? MlpKind::gated : MlpKind::plain;
  a.activation = gated ? Activation::silu : Activation::gelu;
  a.norm = gated ? NormKind::rms_norm : NormKind::layer_norm;
  a.position = gated ? Position::rope : Position::learned;
  a.position_rows = gated ? 0 : a.context;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = !gated;
}

void use_activation(Arch& a, const std::string& said) {
  const std::string name = lower(said);
  if (mentions(name, "relu2") || mentions(name, "squared") || mentions(name, "relu^2"))
    a.activation = Activation::relu_squared;
  else if (mentions(name, "relu"))
    a.activation = Activation::relu;
  else if (mentions(name, "gelu") || mentions(name, "geglu"))
    a.activation = Activation::gelu;
}

void use_position(Arch& a, const std::string& said) {
  for (const auto& [name, position] : {std::pair{"learned", Position::learned},
                                       {"rope", Position::rope},
                                       {"rotary", Position::rope},
                                       {"alibi", Position::alibi},
                                       {"sinusoidal", Position::sinusoidal},
                                       {"none", Position::none}})
    if (lower(said) == name) a.position = position;
  a.position_rows = a.position == Position::learned ? a.context : 0;
}

void use_latent(Arch& a, const MlaRow& m) {
  a.attention = AttentionKind::latent;
  a.latent = {m.q_rank, m.kv_rank, m.nope, m.rope, m.v};
  a.kv_heads = a.heads;
  a.head_dim = m.nope + m.rope;
  a.qkv_bias = false;
}

/// Layers with experts: after the first `dense` layers, the last layer of every group of `every` layers.
LayerSet layers_with_experts(Count layers, Count dense, Count every) {
  return LayerSet::every(dense + every - 1, every, layers);
}

void use_experts(Arch& a, Moe moe, Count dense, Count every) {
  moe.layers = layers_with_experts(a.layers, dense, every);
  a.moe = moe;
  if (a.moe.layers.size() == a.layers) a.mlp_width = 0;
}

/// Decides whether linear layers have biases, if the reported parameter count matches only one of the two choices.
void count_biases(Arch& a, const std::optional<Count>& reported) {
  if (!reported || a.mlp == MlpKind::gated) return;
  Arch bare = a;
  bare.qkv_bias = bare.attention_out_bias = bare.mlp_bias = false;
  bare.norm = NormKind::layer_norm_no_bias;
  if (parameters(a).total != *reported && parameters(bare).total == *reported) a = bare;
}

/// Reason that check_arch() rejects an architecture; empty if it accepts it.
std::string flaw_of(const Arch& a) {
  if (a.mlp_width == 0 && !a.has_experts()) return "the MLP width is not stated";
  try {
    check_arch(a, "its architecture");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

/// Records an assumption about a shape that strongly affects time.
void weigh_shape(RowArch& r, std::string sentence) {
  r.assumed.push_back(std::move(sentence));
  r.weighty = true;
}

/// GPT-2's vocabulary sizes: as trained by NVIDIA (padded to a multiple of 128 x tensor-parallel ranks), and as
/// trained by others.
constexpr Count padded_gpt2 = 51200, gpt2 = 50257;

/// Sets the vocabulary to the row's, the preset's, or `usual`. `is_certain`: assuming `usual` does not reduce the
/// row's weight in a fit; true for vTrain's rows, which are all GPTs with the same vocabulary.
void use_vocabulary(RowArch& r, const std::optional<Count>& said, const std::optional<Arch>& preset, Count usual,
                    bool is_certain) {
  r.arch.vocabulary = said ? *said : preset ? preset->vocabulary : usual;
  if (said || preset) return;
  std::string sentence = fmt::format("a vocabulary of {}, GPT-2's, which the row does not state", usual);
  if (is_certain) return r.assumed.push_back(std::move(sentence));
  weigh_shape(r, std::move(sentence));
}

/// Sets widths and counts. KV heads and widths that are not stated come from the preset or from conventions.
void use_sizes(Arch& a, Count layers, Count hidden, Count heads, const std::optional<Count>& kv_heads,
               const std::optional<Count>& head_dim, const std::optional<Count>& width,
               const std::optional<Arch>& preset) {
  a.layers = layers;
  a.hidden = a.embedding_width = hidden;
  a.heads = heads;
  a.kv_heads = kv_heads.value_or(heads);
  a.head_dim = head_dim.value_or(preset ? preset->head_dim : hidden / heads);
  a.mlp_width = width.value_or(preset ? preset->mlp_width : 0);
}

/// Records an assumption about the head width if neither the row nor a preset states it. Most heads have 64 or 128
/// elements, for any model width.
void weigh_head_width(RowArch& r, const std::optional<Count>& said, const std::optional<Arch>& preset) {
  const Count width = r.arch.head_dim;
  if (said || preset || r.arch.attention == AttentionKind::latent) return;
  std::string sentence =
      fmt::format("a head size of {} (hidden size divided by heads): the row does not state it", width);
  if (width == 64 || width == 128) return r.assumed.push_back(std::move(sentence));
  weigh_shape(r, std::move(sentence));
}

/// Whether MLPs are gated: as stated, as in the preset, or `usual`.
bool gated_mlps(RowArch& r, const std::optional<bool>& said, const std::optional<Arch>& preset, bool usual,
                std::string_view key) {
  if (said) return *said;
  if (preset) return preset->mlp == MlpKind::gated;
  weigh_shape(r,
              fmt::format("MLPs of {} matrices: the row does not state {}", usual ? "three" : "two", in_quotes(key)));
  return usual;
}

/// Whether the head is tied to the embedding table: as stated, as in the preset, or untied.
bool tied_head(RowArch& r, const std::optional<bool>& said, const std::optional<Arch>& preset) {
  if (said || preset) return said ? *said : preset->tied_head;
  r.assumed.push_back("an untied output head: the row does not state \"tied_embeddings\"");
  return false;
}

/// Reason that the layer counts are impossible; empty if they are possible. Called before layers are assigned.
std::string impossible_layers(Count layers, Count dense, Count every) {
  if (layers > max_layers) return fmt::format("{} layers exceed the supported {}", layers, max_layers);
  return dense >= layers || every > layers ? "no layer has experts" : "";
}

/// Sets latent attention if the row's text or widths indicate it. Missing widths are taken from the preset.
void use_attention_kind(RowArch& r, const std::string& said, const std::optional<MlaRow>& mla,
                        const std::optional<Arch>& preset) {
  if (mla) use_latent(r.arch, *mla);
  const bool of_preset = preset && preset->attention == AttentionKind::latent;
  if (mla || !(Words(said).affirms_any({"mla", "latent attention"}) || (of_preset && Words(said).silent()))) return;
  if (!of_preset) {
    r.skip = "the widths of latent attention are not stated";
    return;
  }
  r.arch.attention = AttentionKind::latent;
  r.arch.latent = preset->latent;
  r.arch.kv_heads = preset->kv_heads;
  r.arch.head_dim = preset->head_dim;
  r.arch.qkv_bias = false;
}

struct SharedExperts {
  Count count = 0, width = 0;
};
/// Shared experts of a training row. They are as wide as routed experts unless the row states another width, which is
/// then the total over all shared experts.
SharedExperts shared_experts(const MoeRow& m, Count width) {
  const Count stated = m.shared_ffn.value_or(width), count = m.shared_experts.value_or(m.shared_ffn ? 1 : 0);
  if (count == 0 || stated == 0) return {};
  return stated == width ? SharedExperts{count, width} : SharedExperts{1, stated};
}

constexpr const char* unstated_top_k = "the row does not state the number of experts per token";

/// The preset's experts, if their number matches.
std::optional<Moe> preset_experts(const std::optional<Arch>& preset, Count experts) {
  return preset && preset->moe.experts == experts ? std::optional(preset->moe) : std::nullopt;
}

/// Width of an expert: as stated, as in the preset, or a dense MLP's.
Count expert_width(RowArch& r, const std::optional<Count>& said, const std::optional<Moe>& preset) {
  if (said || preset) return said ? *said : preset->width;
  weigh_shape(r,
              fmt::format("experts as wide as a dense MLP ({}): the row does not state their width", r.arch.mlp_width));
  return r.arch.mlp_width;
}

void use_moe(RowArch& r, MoeRow m, const std::optional<Arch>& arch) {
  Arch& a = r.arch;
  const std::optional<Moe> preset = preset_experts(arch, m.experts);
  if (!m.top_k && preset) m.top_k = preset->top_k;
  if (!m.top_k) r.skip = unstated_top_k;
  const Count width = expert_width(r, m.expert_ffn, preset);
  const SharedExperts shared = shared_experts(m, width);
  use_experts(a,
              {.experts = m.experts,
               .top_k = m.top_k.value_or(1),
               .width = width,
               .shared_experts = shared.count,
               .shared_width = shared.width,
               .layers = {}},
              m.dense_layers.value_or(0), m.every.value_or(1));
}

/// Sets the experts of an inference row. The stated width of shared experts is the width of each expert.
void use_moe(RowArch& r, const InferenceModel& m, const std::optional<Arch>& arch) {
  const std::optional<Moe> preset = preset_experts(arch, *m.experts);
  const std::optional<Count> top_k = m.top_k || !preset ? m.top_k : std::optional(preset->top_k);
  const Count width = expert_width(r, m.moe_ffn, preset);
  const Count shared = m.shared_experts.value_or(m.shared_ffn.value_or(0) > 0 ? 1 : 0);
  if (!top_k) r.skip = unstated_top_k;
  use_experts(r.arch,
              {.experts = *m.experts,
               .top_k = top_k.value_or(1),
               .width = width,
               .shared_experts = shared,
               .shared_width = shared > 0 ? m.shared_ffn.value_or(width) : 0,
               .layers = {}},
              m.dense_layers.value_or(0), m.moe_every.value_or(1));
}

/// Context needed for all lengths stated in an inference row, in tokens.
Count context_of_row(const InferenceBatch& b) {
  Count all = 1;
  for (const auto& length : {b.input_len, b.output_len, b.context_len, b.cached_context, b.nominal_input_len,
                             b.nominal_output_len, b.max_model_len})
    all += static_cast<Count>(std::min(length.value_or(0), 0x1p28));
  return all;
}

/// Sets the number of key-value heads: as stated, from the text about attention, from the preset, or one per query
/// head.
void use_kv_heads(RowArch& r, const std::optional<Count>& said, const std::string& attention,
                  const std::optional<Arch>& preset) {
  const Words words(attention);
  Arch& a = r.arch;
  if (said || a.attention == AttentionKind::latent) return;
  if (words.affirms_any({"mqa", "multi query"})) a.kv_heads = 1;
  if (words.affirms_any({"mqa", "multi query", "mha", "multi head"})) return;
  if (preset) {
    a.kv_heads = preset->kv_heads;
    return;
  }
  weigh_shape(r,
              fmt::format("as many key-value heads as query heads ({}): the row does not state their number", a.heads));
}

/// Layers with windows or other mixers. Rows state windows under separate keys or, like recurrences, in the text of
/// `attention`.
AttentionLayers layers_said(const std::optional<Count>& window, const std::string& pattern,
                            const std::string& attention, std::string_view key, Count layers) {
  const AttentionLayers in_words = attention_layers(attention, key, 0, layers);
  if (pattern.empty() && !window) return in_words;
  AttentionLayers a = attention_layers(pattern, "sliding_pattern", window.value_or(0), layers);
  a.recurrent |= in_words.recurrent;
  a.sinks |= in_words.sinks;
  return a;
}

/// Sets windows, chunks and other mixers from the row's words, otherwise from the preset.
void use_attention_layers(RowArch& r, const AttentionLayers& said, const std::optional<Arch>& preset) {
  Arch& a = r.arch;
  a.local = said.local;
  a.attention_sinks = said.sinks;
  const bool open = said.recurrent || !said.assumed.empty() || said.local.layers.empty();
  if (preset && has_layers_of_kinds(*preset) && open) {
    a = *preset;
    r.assumed.push_back("layer kinds as in the model's preset");
    return;
  }
  if (said.recurrent) r.skip = "the shapes of layers without softmax attention are not stated";
  if (!said.assumed.empty()) weigh_shape(r, said.assumed);
}

}  // namespace

RowArch arch_of(const TrainingRow& row) {
  const TrainingModel& m = row.model;
  const MoeRow moe = m.moe.value_or(MoeRow{});
  RowArch r;
  if (m.config) {
    r.arch = m.config->arch;
    if (!m.seq_len) r.skip = "the sequence length is not stated";
    return r;
  }
  r.skip = impossible_layers(m.layers, moe.dense_layers.value_or(0), moe.every.value_or(1));
  if (!moe.dense_said.empty()) r.skip = fmt::format("dense layers {} are not the first layers", moe.dense_said);
  if (!r.skip.empty()) return r;
  Arch& a = r.arch;
  const std::optional<Arch> preset = preset_arch(m.name, m.layers, m.hidden, m.heads);
  use_sizes(a, m.layers, m.hidden, m.heads, m.kv_heads, m.head_dim, m.ffn_hidden, preset);
  a.context = m.seq_len.value_or(0);
  a.tied_head = tied_head(r, m.tied_embeddings, preset);
  const bool vtrain = mentions(lower(row.family), "vtrain");
  use_vocabulary(r, m.vocab, preset, vtrain ? gpt2 : padded_gpt2, vtrain);
  follow_custom(a, gated_mlps(r, m.glu, preset, false, "glu"));
  use_position(a, m.positional);
  if (!m.activation.empty()) use_activation(a, m.activation);
  if (m.qkv_bias) a.qkv_bias = *m.qkv_bias;
  a.embedding_norm = m.embed_layernorm.value_or(false);
  if (m.parallel_residual.value_or(false)) a.block = BlockKind::parallel;
  use_attention_kind(r, m.attention_type, m.mla, preset);
  weigh_head_width(r, m.head_dim, preset);
  use_kv_heads(r, m.kv_heads, m.attention_type, preset);
  if (m.moe) use_moe(r, *m.moe, preset);
  use_attention_layers(
      r, layers_said(m.sliding_window, m.sliding_pattern, m.attention_type, "attention_type", m.layers), preset);
  if (!m.seq_len) r.skip = "the sequence length is not stated";
  if (r.skip.empty()) r.skip = flaw_of(a);
  if (r.skip.empty()) count_biases(a, m.params_reported);
  return r;
}

RowArch arch_of(const InferenceRow& row) {
  const InferenceModel& m = row.model;
  RowArch r;
  if (m.config) {
    r.arch = m.config->arch;
    return r;
  }
  r.skip = impossible_layers(m.layers, m.dense_layers.value_or(0), m.moe_every.value_or(1));
  if (!r.skip.empty()) return r;
  Arch& a = r.arch;
  const std::optional<Arch> preset = preset_arch(m.name, m.layers, m.hidden, m.heads);
  use_sizes(a, m.layers, m.hidden, m.heads, m.kv_heads, m.head_dim, m.ffn, preset);
  a.context = context_of_row(row.batch);
  a.tied_head = tied_head(r, m.tied_embeddings, preset);
  use_vocabulary(r, m.vocab, preset, gpt2, false);
  follow_custom(a, gated_mlps(r, m.gated_mlp, preset, true, "gated_mlp"));
  if (m.qkv_bias) a.qkv_bias = *m.qkv_bias;
  if (m.parallel_block.value_or(false)) a.block = BlockKind::parallel;
  use_attention_kind(r, m.attention, m.mla, preset);
  weigh_head_width(r, m.head_dim, preset);
  use_kv_heads(r, m.kv_heads, m.attention, preset);
  if (m.experts) use_moe(r, m, preset);
  AttentionLayers said = layers_said(m.sliding_window, m.sliding_pattern, m.attention, "attention", m.layers);
  said.recurrent |= m.recurrent;
  use_attention_layers(r, said, preset);
  if (r.skip.empty()) r.skip = flaw_of(a);
  return r;
}

}  // namespace llmcalc
