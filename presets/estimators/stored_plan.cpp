#include "presets/estimators/stored_plan.hpp"

namespace llmcalc {

namespace {

bool is_half(const Plan& p) { return p.precision == dtypes::fp16 || p.precision == dtypes::bf16; }

/// Sets Megatron-LM's defaults. It uses its built-in attention, which stores scores, unless flash kernels are
/// requested. Dropout is 10 % for scores and hidden states (megatron/arguments.py: --use-flash-attn,
/// --attention-dropout, --hidden-dropout). The loss stores the logits in 16 bits, a float32 copy and its softmax
/// (core/tensor_parallel/cross_entropy.py). Gradients of fp16 weights are accumulated in fp16.
void store_as_megatron(const LeftToSoftware& left, Plan& p) {
  if (left.attention) p.attention = AttentionImpl::naive;
  if (left.dropout) p.dropout = p.attention == AttentionImpl::naive;
  if (left.logits) p.logits.format = LogitFormat::with_gradient;
  if (left.gradients && p.precision == dtypes::fp16) p.gradient_bytes = 2;
}

}  // namespace

Plan stored_plan(Plan p, MemorySoftware software, const LeftToSoftware& left) {
  switch (software) {
    case MemorySoftware::megatron:
    case MemorySoftware::megatron_deepspeed:
      if (is_half(p)) store_as_megatron(left, p);
      break;
    case MemorySoftware::transformer_engine:
      if (left.logits) p.logits.format = LogitFormat::compute;
      // core/fusions/fused_bias_swiglu.py: one kernel computes act(gate) x up, so act(gate) is not saved.
      if (left.glu) p.glu_store = GluStore::fused;
      break;
    case MemorySoftware::titan:
      // FSDP2 shards float32 weights and reduces gradients in float32 (mixed_precision_param, _reduce).
      if (left.logits) p.logits.format = LogitFormat::compute;
      if (left.weights) p.weight_precision = dtypes::fp32;
      break;
    case MemorySoftware::internevo:
      if (left.gradients && is_half(p)) p.gradient_bytes = 2;
      break;
    case MemorySoftware::pytorch:
      break;
  }
  return p;
}

Layout stored_layout(Layout l, MemorySoftware software, const LeftToSoftware& left) {
  if (software == MemorySoftware::titan && left.reshard && ranks(l, Group::pipeline) > 1) l.reshard = false;
  return l;
}

}  // namespace llmcalc
