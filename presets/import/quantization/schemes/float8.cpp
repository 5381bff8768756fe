// Checkpoints in fp8, and gpt-oss's experts in mxfp4.

#include <fmt/format.h>

#include "presets/import/quantization/schemes/parts.hpp"
#include "presets/import/quantization/schemes/readers.hpp"

namespace llmcalc::import {

namespace {

using json::Object;

/// Bits of the scale of a 128 x 128 block, from checkpoint headers: an exponent byte in DeepSeek-V4, bf16 in Qwen3's
/// dense models (Qwen/Qwen3-1.7B-FP8) and Qwen3.5, otherwise float32.
Count block_scale_bits(const SchemeContext& context) {
  if (context.model_type.starts_with("deepseek_v4") || context.model_type == "deepseek_ref") return 8;
  return context.model_type == "qwen3" || context.model_type.starts_with("qwen3_5") ? 16 : 32;
}

/// Packing of fp8 with one scale per block. Without a block size, there is one float32 scale per tensor, and one for
/// its input unless that scale is determined at run time.
Packing float8_packing(const Object& q, const SchemeContext& context) {
  const bool static_inputs = q.text_or("activation_scheme", "static") == "static";
  if (!q.has("weight_block_size")) return with_tensor_bytes(row("fp8-tensor"), static_inputs ? 8 : 4);
  const std::vector<Count> block = q.counts("weight_block_size");
  if (block == std::vector<Count>{1, 32}) return packing(row("mxfp8"));
  if (block != std::vector<Count>{128, 128}) refuse_scheme(q, "fp8 in blocks other than 128 x 128");
  Packing p = packing(row("fp8-block"));
  p.bytes.group_bits = block_scale_bits(context);
  return p;
}

/// Adds the groups of layers that ModelOpt repacked in an fp8 checkpoint (nvidia/DeepSeek-V4-Flash-NVFP4). "ignore"
/// names the unchanged layers.
void add_layers_of_modelopt(Scheme& s, const Object& q) {
  for (const char* stated_twice : {"ignore", "config_groups", "quant_algo", "moe_quant_algo", "group_size"})
    q.find(stated_twice);
  add_modelopt_layers(s, q.object("quantized_layers"));
}

}  // namespace

/// hf quantizers/quantizer_finegrained_fp8.py.
Scheme float8(const Object& q, const SchemeContext& context) {
  if (q.has("config_groups") && !q.has("quantized_layers")) refuse_scheme(q, "a mix of formats under \"fp8\"");
  const Packing p = float8_packing(q, context);
  Scheme s{.kept = modules(q, {"modules_to_not_convert", "ignored_layers"}),
           .cache_bits = q.has("kv_cache_scheme") ? 8 : 0};
  if (q.has("quantized_layers")) add_layers_of_modelopt(s, q);
  if (context.fp4_experts)
    s.groups.push_back(
        {.packing = packing(row("mxfp4")), .targets = Modules({"experts"}), .products = products_in(p.format)});
  s.groups.push_back({.packing = p, .products = products_in(p.format)});
  return s;
}

Scheme fbgemm(const Object& q, const SchemeContext&) {
  return {.groups = every_matrix(packing(row("fp8-row32")), dtypes::fp8),
          .kept = modules(q, {"modules_to_not_convert"})};
}

/// hf integrations/mxfp4.py replaces only the experts of gpt-oss.
Scheme mxfp4_experts(const Object& q, const SchemeContext&) {
  return {.groups = {{.packing = packing(row("mxfp4")), .targets = Modules({"experts"})}},
          .kept = modules(q, {"modules_to_not_convert"})};
}

}  // namespace llmcalc::import
