#include "presets/import/quantization/schemes/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "text/names.hpp"

namespace llmcalc::import {

using json::Object;

void refuse_scheme(const Object& q, const std::string& what) {
  throw InputError(
      fmt::format("{}: {} is not supported; specify the formats of the model's weights in an llmcalc model file "
                  "('llmcalc import' of the config without this block creates one)",
                  q.where(), what));
}

Modules picked(const Object& q, std::string_view key, const std::vector<std::string>& patterns, bool below) {
  try {
    return Modules(patterns, below);
  } catch (const ExpressionError& e) {
    refuse_scheme(q, fmt::format("a regular expression in \"{}\" ({})", key, e.what()));
  }
}

Modules modules(const Object& q, KeyNames keys, bool below) {
  for (const std::string_view key : keys)
    if (q.has(key)) return picked(q, key, q.texts(key), below);
  return {};
}

Count group_size(const Object& q, const std::string& what) {
  for (const char* key : {"group_size", "q_group_size"}) {
    const json::Value* v = q.find(key);
    if (v == nullptr) continue;
    if (v->is_number_integer() && *v < 0) return -1;
    const Count group = q.count(key);
    if (group < 8 || !std::has_single_bit(static_cast<std::uint64_t>(group)))
      refuse_scheme(q, fmt::format("{} in groups of {}", what, group));
    return group;
  }
  return 128;
}

Format groups_of(std::string_view name, Count bits, Count group, Count group_bits) {
  Format f{};
  f.name = name;
  f.element_bits = bits;
  f.group = group;
  f.group_bits = group_bits;
  return f;
}

Packing packing(DType row, const Format& bytes) {
  Packing p = packing(row);
  p.bytes = bytes;
  return p;
}

Packing with_tensor_bytes(DType row, Count bytes) {
  Packing p = packing(row);
  p.bytes.tensor_bytes = bytes;
  return p;
}

DType grouped_row(std::string_view stem, Count group) {
  const std::string plain = stem == "int4" ? "int4-g128" : std::string(stem);
  return dtype(fmt::format("{}-g{}", stem, group)).value_or(row(plain));
}

std::optional<DType> products_in(DType weights) {
  switch (weights.format().peak) {
    case Peak::fp8:
      return weights.format().group_rows > 1 || weights.name() == "mxfp8" ? weights : dtypes::fp8;
    case Peak::int8:
      return row("int8");
    case Peak::fp4:
      return row(weights.name() == "mxfp4" ? "mxfp4" : "nvfp4");
    default:
      return std::nullopt;
  }
}

std::vector<Scheme::Group> every_matrix(Packing p, std::optional<DType> products) {
  return {{.packing = std::move(p), .targets = {}, .products = products, .said = {}}};
}

namespace {

/// Keys of all methods that affect neither bytes nor matmuls. They describe the program, how it computed the values,
/// and how the model is run.
constexpr std::array without_effect = {
    // The program.
    "quant_method", "version", "producer", "autoround_version", "model_name_or_path", "model_file_base_name",
    "is_prequantized", "quantization_status", "registry_requires_subclass", "created", "pack_dtype", "pack_method",
    // How the values were computed.
    "damp_percent", "damp_auto_increment", "static_groups", "true_sequential", "sym", "dataset", "tokenizer",
    "batch_size", "seqlen", "nsamples", "iters", "lr", "minmax_lr", "low_gpu_mem_usage", "enable_quanted_input",
    "enable_minmax_tuning", "gradient_accumulate_steps", "scale_dtype", "mse", "calibration", "calib", "act_group_size",
    "observer", "observer_kwargs", "observer_cls", "algo_config", "is_dynamic", "round_method", "scale_type",
    "symmetric", "ch_axis", "scale_format", "scale_fmt", "scale_calculation_mode", "optimize", "round_zero",
    "channel_wise", "global_compression_ratio", "rotation", "block_name_to_quantize",
    "module_name_preceding_first_block", "super_bits", "super_group_size", "quant_lm_head", "supported_types",
    "act_dynamic", "act_sym", "activation_dtype", "codebook", "provider", "int4_choose_qparams_algorithm", "fmt",
    "smoothquant", "has_zero_point", "pre_quant_scale", "sparsity_structure", "global_sparsity", "zp_dtype",
    "mapping_type", "weight_mapping_type", "act_mapping_type", "set_inductor_config", "kernel_preference",
    "rms_norm_eps",
    // How the model is run.
    "use_exllama", "exllama_config", "use_cuda_fp16", "disable_exllama", "max_input_length", "cache_block_outputs",
    "pad_token_id", "model_seqlen", "backend", "do_fuse", "fuse_max_seq_len", "modules_to_fuse", "ipex_config",
    "llm_int8_threshold", "llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight", "bnb_4bit_compute_dtype",
    "bnb_4bit_quant_storage", "bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "activation_scale_ub", "dequantize",
    "offload_meta", "view_as_float", "inner_k_tiles", "layout", "use_hqq", "preserve_zero", "zero_point_domain",
    "target_device", "quant_mode", "output_tensors", "output_activations", "bias", "out_bits", "kernel_config",
    "mm_config", "use_shuffle", "ignore_cache", "linear_activation_scheme"};

bool has_effect(const std::string& key) {
  return std::find(without_effect.begin(), without_effect.end(), key) == without_effect.end();
}

}  // namespace

void remember_unread(Scheme& s, const Object& o, const std::string& name) {
  for (const std::string& key : o.unread())
    if (has_effect(key) && !says_nothing(o.value()[key])) s.unread.push_back(name.empty() ? key : name + "." + key);
}

}  // namespace llmcalc::import
