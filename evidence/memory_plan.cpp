// What software stores by default, as far as memory depends on it.

#include "evidence/memory_software.hpp"
#include "evidence/process_memory.hpp"

namespace llmcalc {

namespace {

bool is_half(const Plan& p) { return p.precision == dtypes::fp16 || p.precision == dtypes::bf16; }

/// A row that says "mixed fp16/bf16" leaves open which; Megatron-LM's own scripts, and those that build on it, ask for
/// --fp16, whose gradients are accumulated in fp16.
bool said_either(const TrainingCase& c) { return c.recipe.find("mixed fp16/bf16") != std::string::npos; }

/// Megatron-LM's own core, which stores scores, runs unless a run asks for flash kernels, and drops 10 % of scores and
/// of hidden numbers (megatron/arguments.py: --use-flash-attn, --attention-dropout, --hidden-dropout). The loss has the
/// logits in 16 bits, a float32 copy and what softmax makes of it (core/tensor_parallel/cross_entropy.py).
void use_megatron(const TrainingCase& c, Plan& p) {
  if (!c.attention.stated) p.attention = AttentionImpl::naive;
  p.dropout = p.attention == AttentionImpl::naive;
  p.logits.format = LogitFormat::with_gradient;
  if (p.precision == dtypes::fp16 || said_either(c)) p.gradient_bytes = 2;
}

/// FSDP2 shards float32 weights and reduces gradients in float32 (torchtitan: mixed_precision_param, _reduce). Layers
/// run again but for what `products` counts.
void use_titan(const TrainingCase& c, Plan& p) {
  p.weight_precision = dtypes::fp32;
  if (keeps_alternate_products(c)) p.recompute = Recompute::full;
}

}  // namespace

bool keeps_alternate_products(const TrainingCase& c) {
  return memory_software(c) == MemorySoftware::titan && (c.recomputed.alternate_products || !c.recomputed.stated());
}

Layout memory_layout(const TrainingCase& c) {
  Layout l = c.layout;
  if (memory_software(c) == MemorySoftware::titan && ranks(l, Group::pipeline) > 1) l.reshard = false;
  return l;
}

MemorySoftware memory_software(const TrainingCase& c) {
  if (c.stack.name == "megatron-lm") return MemorySoftware::megatron;
  if (c.stack.name == "megatron-deepspeed") return MemorySoftware::megatron_deepspeed;
  if (c.stack.name == "megatron-core" || c.stack.name == "nemo") return MemorySoftware::transformer_engine;
  if (c.stack.name == "internevo") return MemorySoftware::internevo;
  return c.stack.name == "torchtitan" ? MemorySoftware::titan : MemorySoftware::other;
}

Plan memory_plan(const TrainingCase& c) {
  Plan p = c.plan;
  switch (memory_software(c)) {
    case MemorySoftware::megatron:
    case MemorySoftware::megatron_deepspeed:
      if (is_half(p)) use_megatron(c, p);
      break;
    case MemorySoftware::transformer_engine:
      p.logits.format = LogitFormat::compute;
      p.glu_store = GluStore::fused;  // core/fusions/fused_bias_swiglu.py: keeps gate and up, and makes their product
      break;
    case MemorySoftware::titan:
      p.logits.format = LogitFormat::compute;
      use_titan(c, p);
      break;
    case MemorySoftware::internevo:
      if (is_half(p)) p.gradient_bytes = 2;
      break;
    case MemorySoftware::other:
      break;
  }
  return p;
}

}  // namespace llmcalc
