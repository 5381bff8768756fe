#pragma once
/// A whole pass over a model: embedding, every kind of block with its number of layers, head, cut for one rank.

#include "calc/block.hpp"
#include "calc/parallel/tensor.hpp"
#include "calc/pricing.hpp"

namespace llmcalc {

enum class SegmentKind : std::uint8_t { embedding, block, head };

struct Segment {
  SegmentKind kind;
  LayerKind layer;  ///< of a block
  Count repeats;
  Count input_elements;  ///< numbers in the segment's input on this rank
  OpList ops;
};

constexpr TensorParallel tensor_parallel(const Plan& p) { return {p.tp, p.sp}; }

constexpr Step training_step(const Plan& p) {
  return {.sequences = p.micro_batch,
          .queries = p.seq,
          .training = true,
          .absorbed = p.mla == Mla::absorbed,
          .dropout = p.dropout,
          .fused_glu = p.glu_store != GluStore::all};
}
constexpr Step prefill_step(const Plan& p, Count tokens) {
  return {.sequences = p.batch,
          .queries = tokens,
          .absorbed = p.mla == Mla::absorbed,
          .expanded_cache = p.mla == Mla::expanded,
          .fused_glu = true};
}
/// `context` counts the new token.
constexpr Step decode_step(const Plan& p, Count context) {
  return {.sequences = p.batch,
          .queries = 1,
          .past = context - 1,
          .absorbed = p.mla != Mla::expanded,
          .expanded_cache = p.mla == Mla::expanded,
          .fused_glu = true};
}

/// Calls visit(const Segment&) for each segment in order, one list of operators alive at a time.
template <typename Visit>
void for_each_segment(const Arch& arch, const Step& step, const TensorParallel& tp, Visit visit) {
  const Count rows = tp.sequence ? ceil_div(step.tokens(), tp.ranks) : step.tokens();
  const Count input = mul(rows, arch.hidden);
  visit(Segment{SegmentKind::embedding, {}, 1, 0, split_tensor(embedding_ops(arch, step), tp)});
  for (const LayerKind& kind : layer_kinds(arch))
    visit(Segment{SegmentKind::block, kind, kind.count, input, split_tensor(block_ops(arch, kind, step), tp)});
  visit(Segment{SegmentKind::head, {}, 1, input, split_tensor(head_ops(arch, step), tp)});
}

}  // namespace llmcalc
