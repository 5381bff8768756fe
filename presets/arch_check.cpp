#include "presets/arch_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/arch/cross_layer.hpp"
#include "calc/arch/layer_kinds.hpp"
#include "calc/parameters.hpp"
#include "presets/mixer_check.hpp"
#include "presets/repeats.hpp"

namespace llmcalc {

namespace {

/// Checks indexers. A layer with an indexer must not have a window. A layer that reuses a selection must come after a
/// layer that computes a selection of the same kind.
void check_choices(const Arch& a, const Check& check) {
  const auto chooses_all = [](const Mixer& m) {
    return m.indexer.kind != IndexerKind::none && m.attention != AttentionKind::compressed;
  };
  check.that(!chooses_all(a) || (a.local.layers.empty() && a.linear_layers.empty()),
             "an indexer selects among all tokens; remove the window, chunked attention or linear attention of the "
             "same layers");
  for (std::size_t i = 0; i < a.mixers.size(); ++i)
    check.that(!chooses_all(a.mixers[i]) || !a.mixers[i].reach.limited(),
               "a mixer has both an indexer and a window; remove one");
  bool chosen = false;
  Selection last;
  for (const LayerKind& kind : layer_kinds(a)) {
    const Indexer& i = a.mixer(kind.mixer).indexer;
    chosen = chosen || i.runs();
    if (i.runs()) last = i.selection();
    check.that(i.kind == IndexerKind::none || chosen,
               fmt::format("layer {} shares the selection of an earlier indexer, but no earlier layer has one; remove "
                           "\"shared\"",
                           kind.first));
    check.that(!i.shared || i.selection() == last,
               fmt::format("layer {} shares the selection of an indexer with a different number of keys or different "
                           "blocks; set the same \"kind\", \"top_k\" and \"block\"",
                           kind.first));
  }
}

/// Checks an RWKV-7 layer that blends its values with the values of an earlier RWKV-7 layer. Neither layer may also
/// have attention.
void check_values(const Mixer& reader, Count layer, const Mixer* source, const Check& check) {
  const bool alone = reader.attention == AttentionKind::none && source && source->attention == AttentionKind::none;
  const bool fits = alone && source->recurrent.gives_values() && source->recurrent.heads == reader.recurrent.heads &&
                    source->recurrent.head_dim == reader.recurrent.head_dim;
  check.that(fits,
             fmt::format("layer {} mixes its values with the values of the last earlier layer without value_rank, "
                         "but that layer is missing, has different heads or also has attention; add a matching layer",
                         layer));
}

/// Checks that every layer that reads another layer's keys and values, or only its values, comes after a source layer
/// of matching shape.
void check_sharing(const Arch& a, const Check& check) {
  const LayerKinds kinds = layer_kinds(a);
  const auto mixer = [&](Count layer) -> const Mixer& { return a.mixer(kinds[kind_index(kinds, layer)].mixer); };
  for (Count i = 0; i < a.layers; ++i) {
    const Mixer& reader = mixer(i);
    if (!reader.reads_kv()) continue;
    if (reader.recurrent.reads_values()) {
      check_values(reader, i, kv_source(kinds, i) < 0 ? nullptr : &mixer(kv_source(kinds, i)), check);
      continue;
    }
    check.that(reader.attention == AttentionKind::grouped, "shared_kv requires grouped attention; remove it");
    const Count source = kv_source(kinds, i);
    const bool fits = source >= 0 && mixer(source).kv_heads == reader.kv_heads &&
                      mixer(source).head_dim == reader.head_dim && mixer(source).v_dim() == reader.v_dim();
    check.that(fits, fmt::format("layer {} shares keys and values, but the last earlier layer with its own keys and "
                                 "values and the same window is missing or has different heads or widths; add a "
                                 "matching layer",
                                 i));
  }
}

/// Checks mixed residual streams. A model with them must not pass any other data from layer to layer.
void check_mixed(const Arch& a, const Check& check) {
  check.size(a.residual_block, "residual_block", 0, max_layers);
  if (a.residual_block == 0) return;
  check.that(a.block == BlockKind::serial && a.norm_placement == NormPlacement::pre,
             "residual streams are mixed before the norms of serial blocks; norm placement must be \"pre\"");
  bool plain = !a.bidirectional && a.position != Position::relative && a.per_layer.width == 0 && !a.output_scale &&
               !a.moe.with_dense_mlp;
  for (const LayerKind& kind : layer_kinds(a)) {
    plain = plain && !kind.reads_kv && !kind.shares_kv;
    check.that(
        kind.has_mlp() || !a.mixer(kind.mixer).is_empty() || kind.linear,
        fmt::format("layer {} has neither a mixer nor an MLP; \"residual_block\" requires one of them", kind.first));
  }
  check.that(plain,
             "mixed residual streams require a decoder without cross-layer sharing, relative positions, per-layer "
             "inputs, layer scales and dense MLPs parallel to experts; remove these or \"residual_block\"");
}

void check_ends(const Arch& a, const Check& check) {
  const bool some = a.per_layer.width > 0 || a.per_layer.rows > 0;
  if (some) {
    check.size(a.per_layer.width, "the width of the per-layer input");
    check.size(a.per_layer.rows, "the number of rows of the per-layer input table");
    check.size(mul(a.layers, a.per_layer.width), "the width of all per-layer inputs");
  }
  check.that(a.mtp.modules == 0 || (!some && a.residual_block == 0 && !a.bidirectional),
             "MTP modules require a decoder without per-layer inputs and mixed residual streams; remove \"mtp\"");
  check.that(a.block == BlockKind::serial || (!some && !a.output_scale),
             "per-layer inputs and layer scales require serial blocks; remove them");
}

/// Checks encoders. Encoder layers must be bidirectional, and their windows must have odd lengths. Any decoder layers
/// must follow the encoder layers and have cross-attention to the encoder's output.
void check_direction(const Arch& a, const Check& check) {
  Count encoder_end = 0;
  for (const LayerKind& kind : layer_kinds(a))
    if (a.mixer(kind.mixer).bidirectional) encoder_end = std::max(encoder_end, kind.last + 1);
  for (const LayerKind& kind : layer_kinds(a)) {
    const Mixer& m = a.mixer(kind.mixer);
    check.that(!m.cross_attention || (!m.bidirectional && a.bidirectional && m.attention == AttentionKind::grouped),
               fmt::format("layer {} has cross-attention, which requires grouped attention in a decoder after an "
                           "encoder; remove \"cross_attention\"",
                           kind.first));
    check.that(m.bidirectional || encoder_end == 0 || (m.cross_attention && kind.first >= encoder_end),
               fmt::format("layer {} is neither bidirectional nor a decoder layer with cross-attention after the "
                           "encoder; describe the encoder first, then its decoder",
                           kind.first));
    check.that(!m.bidirectional || (m.attention == AttentionKind::grouped && !kind.linear && !kind.reach.chunked &&
                                    m.recurrent.kind == RecurrentKind::none),
               fmt::format("layer {} is bidirectional, which only grouped attention without chunks supports; remove "
                           "\"bidirectional\"",
                           kind.first));
    check.that(!m.bidirectional || !kind.reach.limited() || kind.reach.tokens % 2 == 1,
               fmt::format("layer {} is bidirectional, but its centered window has {} tokens; set an odd number",
                           kind.first, kind.reach.tokens));
  }
}

/// Whether the last layer is followed by at most a norm or a pooler.
bool has_plain_end(const Arch& a) {
  return a.streams == 1 && a.residual_block == 0 && !a.narrows_head() && !a.is_encoder_decoder() && a.mtp.modules == 0;
}

void check_head(const Arch& a, const Check& check) {
  check.that(a.head.has_logits() || (!a.tied_head && !a.head_bias),
             "the head's kind is none, but \"tied\" or \"bias\" is true; set both to false");
  check.that(!a.head.pooler || !a.final_norm,
             "a model with a pooler has no final norm; the norm's \"final\" must be "
             "false");
  check.that(a.head.kind == HeadKind::masked_token || a.head.transform_bias,
             "the head's transform_bias requires a masked_token head; set that kind or omit transform_bias");
  check.that(a.head.has_logits() || has_plain_end(a),
             "a model without logits requires one residual stream, a token embedding as wide as the model, no decoder "
             "after an encoder and no MTP modules; set another head kind");
  check.that(!a.head.sentence_pair || a.head.pooler, "sentence_pair reads the pooler's output; add the pooler");
  check.that(a.head.kind != HeadKind::masked_token || !a.narrows_head(),
             "a masked_token head requires an embedding as wide as the model or \"narrow_ends\"");
  check_narrow_ends(a, check);
  check_exit_gate(a, check);
  check.size(a.token_types, "the number of token types", 0);
}

void check_attention(const Arch& a, const Check& check) {
  for (std::size_t i = 0; i <= a.mixers.size(); ++i) check_mixer(a.mixer(i), check);
  check.that(a.attention == AttentionKind::grouped || a.linear_layers.empty(),
             "latent and linear attention cannot be mixed; choose one");
  check.that(a.attention != AttentionKind::none || a.local.layers.empty(),
             "a sliding window requires attention; remove the window");
}

/// Throws an InputError that names the first layer in both sets if they overlap.
void check_apart(const LayerSet& a, const LayerSet& b, const char* what, const Check& check) {
  const LayerSet both = a.filtered(b, true);
  if (!both.empty()) check.that(false, fmt::format("layer {} has two {}; list it once", both.first(), what));
}

/// Checks that every layer is in at most one mixer list and one MLP list, and that at least one layer has the model's
/// default mixer.
void check_lists(const Arch& a, const Check& check) {
  LayerSet own = LayerSet::all(a.layers);
  for (std::size_t i = 0; i < a.mixers.size(); ++i) {
    const LayerMixer& m = a.mixers[i];
    for (std::size_t j = 0; j < i; ++j) check_apart(m.layers, a.mixers[j].layers, "mixers", check);
    check_apart(m.layers, a.local.layers, "mixers, one of them the model's windowed attention", check);
    check_apart(m.layers, a.linear_layers, "mixers, one of them linear attention", check);
    if (m.attention == AttentionKind::none)
      check.that(!m.reach.limited(), "a mixer without attention has a window; remove it");
    own = own.filtered(m.layers, false);
  }
  check.that(!own.empty(),
             "every layer is in \"mixers\", so no layer uses the model's own attention; describe one of the mixers as "
             "the model's own");
  for (std::size_t i = 0; i < a.mlps.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) check_apart(a.mlps[i].layers, a.mlps[j].layers, "MLPs", check);
    check_apart(a.mlps[i].layers, a.has_experts() ? a.moe.layers : LayerSet(), "MLPs, one of them experts", check);
    check.size(a.mlps[i].width, "the width of an MLP", 0);
  }
  check.that(unlike_kinds(a) <= most_unlike,
             fmt::format("{} kinds of layers differ in mixer, window or MLP; at most {} are supported", unlike_kinds(a),
                         most_unlike));
  for (const LayerKind& kind : layer_kinds(a))
    check.that(kind.has_mlp() || !a.mixer(kind.mixer).is_empty() || kind.linear,
               fmt::format("layer {} has neither a mixer nor an MLP; add one", kind.first));
}

void check_patterns(const Arch& a, const Check& check) {
  const std::string reach = a.local.reach.chunked ? "chunked attention" : "the sliding window";
  if (!a.local.layers.empty()) check.size(a.local.reach.tokens, reach);
  check.that(a.local.reach.tokens == 0 || !a.local.layers.empty(), reach + " is not used by any layer; remove it");
  for (Count i = 0; i < a.layers; ++i)
    if (a.local.layers.contains(i) && a.linear_layers.contains(i))
      check.that(false, fmt::format("layer {} has both {} and linear attention; choose one", i,
                                    a.local.reach.chunked ? "chunked attention" : "a sliding window"));
}

void check_experts(const Arch& a, const Check& check) {
  const Moe& m = a.moe;
  check.size(m.experts, "the number of experts", 1, Count{1} << 20);
  check.size(m.width, "the experts' width");
  check.size(m.latent_width, "the latent width of the experts", 0);
  check.that(m.latent_width > 0 || !m.latent_norm, "latent_norm is true, but latent_width is not set");
  check.that(!m.layers.empty(), "the experts are not used by any layer; remove them");
  check.size(m.zero_experts, "the number of zero_experts", 0, Count{1} << 20);
  check.that(
      m.top_k >= 1 && m.top_k <= m.choices(),
      fmt::format("top_k: expected a whole number from 1 to {}, the number of experts, got {}", m.choices(), m.top_k));
  check.size(m.shared_experts, "the number of shared experts", 0, Count{1} << 20);
  check.size(m.shared_width, "the shared experts' width", m.shared_experts > 0 ? 1 : 0,
             m.shared_experts > 0 ? max_size : 0);
  check.size(mul(m.shared_experts, m.shared_width), "the width of all shared experts", 0);
  check.that(!m.shared_gate || m.shared_experts > 0, "shared_gate is true, but there is no shared expert");
  check.that(!m.with_dense_mlp || (a.block == BlockKind::serial && a.mlps.empty()),
             "beside_dense requires serial blocks whose dense MLPs have one width");
}

/// Number of layers with a dense MLP of the model's default width.
Count dense_layers(const Arch& a) {
  if (a.block == BlockKind::shortcut) return a.layers;
  LayerSet dense = LayerSet::all(a.layers);
  if (a.has_experts() && !a.moe.with_dense_mlp) dense = dense.filtered(a.moe.layers, false);
  for (const LayerMlp& m : a.mlps) dense = dense.filtered(m.layers, false);
  return dense.size();
}

void check_mlp(const Arch& a, const Check& check) {
  if (a.has_experts()) check_experts(a, check);
  const bool dense = dense_layers(a) > 0, lists = a.mlps.size() > 0;
  check.that(dense || a.mlp_width == 0,
             fmt::format("{}, so the mlp width is unused; remove it",
                         lists ? "every layer has experts or is in \"mlps\"" : "every layer has experts"));
  if (dense) check.size(a.mlp_width, "the mlp width");
  check.that(!a.mlp_out_bias || !a.mlp_bias,
             "the mlp's out_bias requires an MLP without other biases; remove it or set \"bias\": false");
  check.that(a.mlp_shift || !a.mlp_receptance,
             "the mlp's receptance requires a mix of two tokens; set \"shift\": true or remove \"receptance\"");
  check.that(!a.mlp_shift || !a.has_experts(),
             "the mlp's shift is true, but experts do not read the previous token; remove one of the two");
}

void check_shortcut(const Arch& a, const Check& check) {
  check.that(a.mixers.size() == 0 && a.mlps.size() == 0,
             "all layers of a shortcut block are alike; \"mixers\" and \"mlps\" require serial blocks");
  check.that(a.has_experts() && a.moe.layers == LayerSet::all(a.layers) && a.linear_layers.empty(),
             "every layer of a shortcut block has softmax attention and experts; set \"layers\": \"all\" for the "
             "experts and remove linear attention");
  check.that(
      a.norm_placement == NormPlacement::pre && a.norms_per_layer == 4,
      "a shortcut block has four norms before its four sub-layers; norm placement must be \"pre\", with 4 per layer");
}

/// Checks the layers of Gemma 3n, whose sub-layers have two norms each.
void check_alternating(const Arch& a, const Check& check) {
  check.size(a.laurel_rank, "the laurel_rank", 0);
  check.that(a.streams > 1 && a.per_layer.width > 0,
             "alternating updates require several residual streams and per-layer inputs; set \"streams\" and "
             "\"layered_input\" or remove \"altup\"");
  check.that(
      a.residual_block == 0 && !a.output_scale && !a.bidirectional && a.position != Position::relative,
      "alternating updates require a decoder without mixed residuals, layer scales and relative positions; remove "
      "these or \"altup\"");
  for (const LayerKind& kind : layer_kinds(a))
    check.that(kind.has_mlp() && !a.mixer(kind.mixer).is_empty(),
               fmt::format("layer {} lacks a mixer or an MLP, but alternating updates require both; add the missing "
                           "one",
                           kind.first));
}

void check_streams(const Arch& a, const Check& check) {
  check.size(a.streams, "the number of residual streams", 1, 64);
  check.size(mul(a.streams, a.hidden), "the width of all residual streams");
  const bool before = a.norm_placement == NormPlacement::pre || (a.altup && a.norm_placement == NormPlacement::both);
  check.that(a.streams == 1 || (a.block == BlockKind::serial && before),
             "several residual streams require serial blocks with norms before the sub-layers; block must be "
             "\"serial\" and norm placement \"pre\"");
  if (a.altup) return check_alternating(a, check);
  check.that(a.laurel_rank == 0, "laurel_rank requires alternating updates; set \"altup\": true");
  check.that(a.streams == 1 || (a.residual_block == 0 && a.per_layer.width == 0 && !a.output_scale &&
                                !a.moe.with_dense_mlp && !a.bidirectional && a.position != Position::relative),
             "several residual streams require a decoder without mixed residuals, per-layer inputs, layer scales, "
             "relative positions or dense MLPs parallel to experts; remove these or \"streams\"");
}

/// Checks a model whose first layer has no norm in front of its mixer.
void check_first_norm(const Arch& a, const Check& check) {
  if (a.first_norm) return;
  const LayerKind first = layer_kinds(a)[0];
  const bool before = a.norm_placement == NormPlacement::pre || a.norm_placement == NormPlacement::both;
  check.that(a.block == BlockKind::serial && before && a.streams == 1 && a.residual_block == 0 && a.mtp.modules == 0 &&
                 !a.mixer(first.mixer).is_empty(),
             "the norm's \"first\" is false, which requires serial blocks with one residual stream, norms before the "
             "sub-layers, a mixer in the first layer and no MTP modules; omit it");
}

void check_norms(const Arch& a, const Check& check) {
  check_first_norm(a, check);
  const bool parallel = a.block == BlockKind::parallel;
  check.that(!parallel || (a.mixers.size() == 0 && a.mlps.size() == 0),
             "all layers of a parallel block are alike; \"mixers\" and \"mlps\" require serial blocks");
  check.that(!parallel || a.norm_placement == NormPlacement::pre,
             "a parallel block has norms before the sub-layers; norm placement must be \"pre\"");
  if (parallel) return check.size(a.norms_per_layer, "the number of norms per layer of a parallel block", 1, 2);
  if (a.block == BlockKind::shortcut) return check_shortcut(a, check);
  const Count expected = a.norm_placement == NormPlacement::both ? 4 : 2;
  check.that(a.norms_per_layer == expected,
             fmt::format("expected {} norms per layer with placement \"{}\" in a serial block, got {}", expected,
                         name(a.norm_placement), a.norms_per_layer));
}

void check_learned_rows(const Arch& a, const Check& check) {
  check.size(a.learned_rows(), "the number of position rows");
  check.that(a.learned_rows() >= a.context,
             fmt::format("{} position rows are too few for a context of {}; set at least as many", a.learned_rows(),
                         a.context));
}

void check_positions(const Arch& a, const Check& check) {
  check.that(!a.layer_distances || a.position == Position::relative,
             "a position table in every layer (\"per_layer\") requires relative positions; remove \"per_layer\"");
  const bool learned = a.position == Position::learned, relative = a.position == Position::relative;
  if (relative) check.size(a.position_rows, "the number of distance ranges");
  check.that(a.added_rows == 0 || relative, "added_rows requires relative positions; remove it");
  check.that(learned || relative || a.position_rows == 0,
             "position rows are set, but the positions are not learned; remove them");
  if (learned || a.added_rows > 0) check_learned_rows(a, check);
}

/// Checks MTP modules. Their number is limited to the maximum number of draft tokens in one verification pass.
void check_mtp(const Arch& a, const Check& check) {
  const Mtp& m = a.mtp;
  check.size(m.modules, "the number of MTP modules", 0, 16);
  if (m.modules == 0) return check.that(m == Mtp{}, "MTP modules are described, but their number is 0; remove them");
  check.size(m.mixer_of, "mixer_of of the MTP modules", 0, a.layers - 1);
  check.size(m.mlp_of, "mlp_of of the MTP modules", 0, a.layers - 1);
  check.that(a.embedding_width == a.hidden, "MTP modules require a token embedding as wide as the model; remove them");
  const LayerKind layer = mtp_layer(a);
  check.that(layer.has_mlp() || layer.linear || !a.mixer(layer.mixer).is_empty(),
             "the layer of the MTP modules has neither a mixer nor an MLP; specify a layer that has one");
}

/// Checks the parameter count, which can overflow even if every size is valid.
void check_count(const Arch& a, const Check& check) {
  try {
    parameters(a);
    mtp_parameters(a);
  } catch (const Overflow&) {
    check.that(false, "the parameter count exceeds 2^63; one of the sizes is too large");
  }
}

}  // namespace

void check_arch(const Arch& arch, const std::string& where) {
  const Check check(where);
  check.size(arch.layers, "the number of layers", 1, max_layers);
  check.size(arch.hidden, "the hidden size");
  check.size(arch.vocabulary, "the vocabulary");
  check.size(arch.context, "the context length");
  check.size(arch.embedding_width, "the embedding width");
  check_attention(arch, check);
  check_patterns(arch, check);
  check_choices(arch, check);
  check_mlp(arch, check);
  check_lists(arch, check);
  check_sharing(arch, check);
  check_direction(arch, check);
  check_head(arch, check);
  check_ends(arch, check);
  check_norms(arch, check);
  check_mixed(arch, check);
  check_streams(arch, check);
  check_positions(arch, check);
  check_mtp(arch, check);
  check_repeats(arch, check);
  check_count(arch, check);
}

}  // namespace llmcalc
