#include "evidence/row_arch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "calc/parameters.hpp"
#include "presets/arch_check.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool mentions(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

/// GPT's conventions where matrices come in pairs, Llama's where they are gated.
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

/// Layer i has experts if it is not among the first dense ones and the last of its `every`.
LayerSet layers_with_experts(Count layers, Count dense, Count every) {
  return LayerSet::every(dense + every - 1, every, layers);
}

void use_experts(Arch& a, Moe moe, Count dense, Count every) {
  moe.layers = layers_with_experts(a.layers, dense, every);
  a.moe = moe;
  if (a.moe.layers.size() == a.layers) a.mlp_width = 0;
}

/// Biases of linear layers are told by the parameter count, where it is reported and only one of the two gives it.
void count_biases(Arch& a, const std::optional<Count>& reported) {
  if (!reported || a.mlp == MlpKind::gated) return;
  Arch bare = a;
  bare.qkv_bias = bare.attention_out_bias = bare.mlp_bias = false;
  bare.norm = NormKind::layer_norm_no_bias;
  if (parameters(a).total != *reported && parameters(bare).total == *reported) a = bare;
}

/// Refusals of presets/arch_check as a reason instead of an exception.
std::string flaw_of(const Arch& a) {
  if (a.mlp_width == 0 && !a.has_experts()) return "the width of the MLP is not stated";
  try {
    check_arch(a, "its architecture");
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

/// The vocabularies of GPT-2 as trained by NVIDIA (padded to 128 x tensor ranks) and by others.
constexpr Count padded_gpt2 = 51200, gpt2 = 50257;

void use_vocabulary(RowArch& r, const std::optional<Count>& said, bool megatron) {
  r.arch.vocabulary = said.value_or(megatron ? padded_gpt2 : gpt2);
  if (!said)
    r.vocabulary_assumed = fmt::format("a vocabulary of {}, GPT-2's, which the row does not state", r.arch.vocabulary);
}

/// Widths and counts, heads and their widths completed by what they are unless told.
void use_sizes(Arch& a, Count layers, Count hidden, Count heads, const std::optional<Count>& kv_heads,
               const std::optional<Count>& head_dim, const std::optional<Count>& width) {
  a.layers = layers;
  a.hidden = a.embedding_width = hidden;
  a.heads = heads;
  a.kv_heads = kv_heads.value_or(heads);
  a.head_dim = head_dim.value_or(hidden / heads);
  a.mlp_width = width.value_or(0);
}

/// What must hold before layers are told apart.
std::string impossible_layers(Count layers, Count dense, Count every) {
  if (layers > max_layers) return fmt::format("{} layers are more than the {} that are modelled", layers, max_layers);
  return dense >= layers || every > layers ? "no layer has experts" : "";
}

/// Latent attention, which the row's text or widths tell.
void use_attention_kind(RowArch& r, const std::string& said, const std::optional<MlaRow>& mla) {
  if (mla) use_latent(r.arch, *mla);
  if (mentions(said, "MLA") && !mla) r.skip = "latent attention whose widths are not stated";
}

void use_moe(RowArch& r, const MoeRow& m) {
  Arch& a = r.arch;
  if (!m.top_k) r.skip = "experts of which the row does not say how many a token visits";
  const Count shared = m.shared_ffn.value_or(0);
  use_experts(a,
              {.experts = m.experts,
               .top_k = m.top_k.value_or(1),
               .width = m.expert_ffn.value_or(a.mlp_width),
               .shared_experts = shared > 0 ? 1 : 0,
               .shared_width = shared,
               .layers = {}},
              m.dense_layers.value_or(0), m.every.value_or(1));
}

/// The same of inference, whose shared experts are counted and as wide as the others.
void use_moe(RowArch& r, const InferenceModel& m) {
  const Count width = m.moe_ffn.value_or(r.arch.mlp_width), shared = m.shared_experts.value_or(0);
  if (!m.top_k) r.skip = "experts of which the row does not say how many a token visits";
  use_experts(r.arch,
              {.experts = *m.experts,
               .top_k = m.top_k.value_or(1),
               .width = width,
               .shared_experts = shared,
               .shared_width = shared > 0 ? width : 0,
               .layers = {}},
              m.dense_layers.value_or(0), 1);
}

/// As many tokens as a row of inference speaks of.
Count context_of_row(const InferenceBatch& b) {
  Count all = 1;
  for (const auto& length : {b.input_len, b.output_len, b.context_len, b.cached_context, b.nominal_input_len,
                             b.nominal_output_len, b.max_model_len})
    all += static_cast<Count>(std::min(length.value_or(0), 0x1p28));
  return all;
}

Count number_in(const std::string& text, const char* pattern) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(pattern)) ? std::stoll(found[1]) : 0;
}

/// How many of `of` neighbouring layers are local.
struct LocalShare {
  Count local = 0, of = 0;
};
LocalShare local_share(const std::string& text) {
  if (const Count local = number_in(text, "([0-9]{1,3}) *local *: *[0-9]{1,3} *global"); local > 0)
    return {local, local + number_in(text, "local *: *([0-9]{1,3}) *global")};
  if (const Count local = number_in(text, "([0-9]{1,3}) of [0-9]{1,3} layers"); local > 0)
    return {local, number_in(text, "[0-9]{1,3} of ([0-9]{1,3}) layers")};
  if (mentions(text, "alternat")) return {1, 2};
  return mentions(text, "all layers") || mentions(text, "every layer") ? LocalShare{1, 1} : LocalShare{};
}

}  // namespace

LocalAttention local_attention(std::string_view said, Count window, Count layers) {
  LocalAttention local;
  const std::string text = lower(said.substr(0, 500));
  const LocalShare share = local_share(text);
  const bool chunked = mentions(text, "chunk");
  if (const Count stated = number_in(text, "(?:window|chunked attention|chunk)[ (of]*([0-9]{2,7})"); stated > 0)
    window = stated;
  if (share.of == 0 || window == 0) return local;
  for (Count i = 0; i < layers; ++i)
    if (i % share.of < share.local) local.layers.insert(i);
  local.reach = {window, chunked};
  return local;
}

RowArch arch_of(const TrainingRow& row) {
  const TrainingModel& m = row.model;
  const MoeRow moe = m.moe.value_or(MoeRow{});
  RowArch r;
  r.skip = impossible_layers(m.layers, moe.dense_layers.value_or(0), moe.every.value_or(1));
  if (!r.skip.empty()) return r;
  Arch& a = r.arch;
  use_sizes(a, m.layers, m.hidden, m.heads, m.kv_heads, m.head_dim, m.ffn_hidden);
  a.context = m.seq_len.value_or(0);
  a.tied_head = m.tied_embeddings.value_or(false);
  use_vocabulary(r, m.vocab, lower(row.family).find("vtrain") == std::string::npos);
  follow_custom(a, m.glu.value_or(false));
  use_position(a, m.positional);
  if (!m.activation.empty()) use_activation(a, m.activation);
  if (m.qkv_bias) a.qkv_bias = *m.qkv_bias;
  a.embedding_norm = m.embed_layernorm.value_or(false);
  if (m.parallel_residual.value_or(false)) a.block = BlockKind::parallel;
  a.local = local_attention(m.attention_type, 0, a.layers);
  a.attention_sinks = mentions(m.attention_type, "sink");
  use_attention_kind(r, m.attention_type, m.mla);
  if (m.moe) use_moe(r, *m.moe);
  if (!m.seq_len) r.skip = "the length of sequences is not stated";
  if (r.skip.empty()) r.skip = flaw_of(a);
  if (r.skip.empty()) count_biases(a, m.params_reported);
  return r;
}

RowArch arch_of(const InferenceRow& row) {
  const InferenceModel& m = row.model;
  RowArch r;
  r.skip = impossible_layers(m.layers, m.dense_layers.value_or(0), 1);
  if (!r.skip.empty()) return r;
  Arch& a = r.arch;
  use_sizes(a, m.layers, m.hidden, m.heads, m.kv_heads, m.head_dim, m.ffn);
  a.context = context_of_row(row.batch);
  a.tied_head = m.tied_embeddings.value_or(false);
  use_vocabulary(r, m.vocab, false);
  follow_custom(a, m.gated_mlp.value_or(true));
  if (m.qkv_bias) a.qkv_bias = *m.qkv_bias;
  if (m.parallel_block.value_or(false)) a.block = BlockKind::parallel;
  a.local = local_attention(m.sliding_pattern, m.sliding_window.value_or(0), a.layers);
  use_attention_kind(r, m.attention, m.mla);
  if (m.experts) use_moe(r, m);
  if (r.skip.empty()) r.skip = flaw_of(a);
  return r;
}

}  // namespace llmcalc
