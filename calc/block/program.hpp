#pragma once
/// Segments of a pass over a model, sharded for one rank: embedding, each kind of block with its layer count, and head.

#include <algorithm>

#include "calc/block/block.hpp"
#include "calc/block/mixed_residual.hpp"
#include "calc/operator/pricing.hpp"
#include "calc/parallel/cut.hpp"
#include "calc/training/gradient_flow.hpp"

namespace llmcalc {

/// MTP modules have three further segments, one of each kind.
enum class SegmentKind : std::uint8_t { embedding, block, head };

struct Segment {
  SegmentKind kind;
  const LayerKind& layer;  ///< kind of the block's layers; default for the embedding and the head
  Count repeats;
  Count input_elements;  ///< number of elements of the segment's input on this rank
  const OpList& whole;   ///< the segment's operators before sharding
  const OpList& ops;     ///< the segment's operators on one rank
  bool backward = true;  ///< whether backward passes through the segment
  bool mtp = false;      ///< whether it is a segment of MTP modules, which run in sequence; `repeats` is their number
};

constexpr Step training_step(const Plan& p) {
  return {.sequences = p.micro_batch,
          .queries = p.seq,
          .training = true,
          .absorbed = p.mla == Mla::absorbed,
          .dropout = p.dropout,
          .fused_glu = p.glu_store != GluStore::all,
          .lora_rank = p.lora_rank,
          .lora_targets = p.lora_targets,
          .frozen = p.frozen,
          .mtp = p.mtp,
          .low_precision = p.low_precision};
}
constexpr Step prefill_step(const Plan& p, Count tokens) {
  return {.sequences = p.batch,
          .queries = tokens,
          .encoded = tokens,
          .absorbed = p.mla == Mla::absorbed,
          .expanded_cache = p.mla == Mla::expanded,
          .fused_glu = true,
          .mtp = p.mtp,
          .low_precision = {.parts = p.multiplied}};
}
/// The step that decodes one token; `context` includes that token.
constexpr Step decode_step(const Plan& p, Count context) {
  return {.sequences = p.batch,
          .queries = 1,
          .past = context - 1,
          .encoded = p.prompt,
          .decodes = true,
          .absorbed = p.mla != Mla::expanded,
          .expanded_cache = p.mla == Mla::expanded,
          .fused_glu = true,
          .low_precision = {.parts = p.multiplied}};
}

/// The step that verifies one drafted token per MTP module and then drafts the next tokens with the modules. Its
/// queries are the token at `context` (inclusive) and one more token per module. Modules read all of these tokens,
/// because any of them may be accepted; the result at the last position is the next draft.
constexpr Step drafting_step(const Plan& p, Count context) {
  Step s = decode_step(p, context);
  s.queries += p.mtp;
  s.verifies = true;
  s.mtp = p.mtp;
  return s;
}

/// The last step of a generation. With MTP modules it verifies their drafts, one per module or fewer if the generation
/// is shorter, and the modules then draft the next tokens.
inline Step last_step(const Plan& p) {
  const Count end = add(p.prompt, p.generate);
  if (p.mtp == 0) return decode_step(p, end);
  const Count verified = std::clamp<Count>(p.generate - 1, 0, p.mtp);
  Step s = drafting_step(p, end - verified);
  s.queries = 1 + verified;
  return s;
}

/// Sets the owner of the weights that an MTP module's operators read: the model owns a tied table or head, the
/// modules own everything else.
inline void own_by_modules(OpList& ops) {
  const auto is_tied = [](const Op& op) {
    const Lookup* table = std::get_if<Lookup>(&op.shape);
    const Linear* matrix = std::get_if<Linear>(&op.shape);
    return (table != nullptr && table->tied) || (matrix != nullptr && matrix->tied);
  };
  for (Op& op : ops) op.owner = is_tied(op) ? Owner::model : Owner::modules;
}

/// Calls visit(const Segment&) for each segment in order, MTP segments last. Only one segment's operators are in
/// memory at a time.
template <typename Visit>
void for_each_segment(const Arch& arch, const LayerKinds& kinds, const Step& step, const Layout& layout, Visit visit) {
  const auto input = [&](bool encoder) {
    return mul(own_tokens(half_step(arch, step, encoder).tokens(), layout), arch.hidden, arch.streams);
  };
  // With adapters, the embedding's result requires a gradient even though no weight before it is trained
  // (enable_input_require_grads of Hugging Face's transformers, for recomputed layers).
  const auto marked = [&](OpList& ops, SegmentKind kind, bool asks) {
    if (step.lora_rank > 0) return kind == SegmentKind::embedding || mark_asking(ops, true);
    return step.frozen.empty() || mark_asking(ops, asks);
  };
  const auto segment = [&](SegmentKind kind, const LayerKind& layer, Count repeats, Count elements, OpList whole,
                           bool asks, bool mtp = false) {
    if (mtp) own_by_modules(whole);
    const bool backward = marked(whole, kind, asks);
    const bool pads = step.training && kind != SegmentKind::block && layout.vocabulary_multiple > 1;
    if (!is_cut(layout) && !pads) {
      visit(Segment{kind, layer, repeats, elements, whole, whole, backward, mtp});
      return backward;
    }
    OpList ops = cut(whole, layout);
    if (ranks(layout, Group::cached) > 1) ops = split_cached(ops, layout, step.decodes);
    if (pads) pad_vocabulary(ops, layout);
    marked(ops, kind, asks);
    visit(Segment{kind, layer, repeats, elements, whole, ops, backward, mtp});
    return backward;
  };
  const LayerKind none;
  bool asks = segment(SegmentKind::embedding, none, 1, 0, embedding_ops(arch, step), false);
  for (const LayerKind& kind : kinds)
    asks = segment(SegmentKind::block, kind, kind.count, input(arch.mixer(kind.mixer).bidirectional),
                   block_ops(arch, kind, step), kind.asks) ||
           asks;
  const Count all =
      step.training || arch.residual_block == 0 ? 1 : mixed_at_end(arch);  // number of tensors in the head's input,
                                                                           // which the head frees
  segment(SegmentKind::head, none, 1, mul(all, input(false)), head_ops(arch, step), asks);
  if (step.mtp == 0) return;
  const LayerKind layer = mtp_layer(arch);
  segment(SegmentKind::embedding, none, step.mtp, input(false), mtp_input_ops(arch, step), true, true);
  segment(SegmentKind::block, layer, step.mtp, input(false), block_ops(arch, layer, step), true, true);
  segment(SegmentKind::head, none, step.mtp, input(false), mtp_head_ops(arch, step), true, true);
}

}  // namespace llmcalc
