#pragma once
/// Contents of a training row. Values that the source does not state are absent; strings are empty.

#include <optional>
#include <string>
#include <vector>

#include "evidence/convert/row_object.hpp"
#include "evidence/rows/measurement_head.hpp"
#include "presets/model_card.hpp"

namespace llmcalc {

struct MoeRow {
  Count experts = 0;
  std::optional<Count> top_k, expert_ffn, shared_experts, shared_ffn, dense_layers, every;
  std::optional<double> capacity_factor;
  std::string dense_said{};  ///< text that names the dense layers, if they are not the first ones
};

struct MlaRow {
  Count q_rank = 0, kv_rank = 0, nope = 0, rope = 0, v = 0;
};

struct TrainingModel {
  std::string name, attention_type, sliding_pattern, positional, activation, mtp;
  Count layers = 0, hidden = 0, heads = 0;
  std::optional<Count> kv_heads, head_dim, ffn_hidden, vocab, seq_len, params_reported, sliding_window;
  std::optional<bool> glu, tied_embeddings, embed_layernorm, qkv_bias, parallel_residual;
  std::optional<MoeRow> moe;
  std::optional<MlaRow> mla;
  std::optional<ModelCard> config;  ///< the model's config.json, which determines all shapes
};

struct TrainingHardware {
  std::string gpu, intra_node, inter_node;
  Count count = 1;
  std::optional<Count> nodes, gpus_per_node;
  std::optional<double> memory_gb, peak_bw_gb_s;
};

struct TrainingParallelism {
  std::optional<Count> tp, pp, vp, cp, ep, etp, dp, zero_stage;
  std::optional<bool> sp, fsdp, async_tp, tp_comm_overlap;  ///< tp_comm_overlap: also set if a kind of overlap is named
  std::string schedule, fsdp_strategy, layer_split, partition, pp_layout, pp_balance, fsdp_group, zero_group, cp_comm,
      offload, note;
  std::vector<std::string> shard_flags;
};

struct TrainingBatch {
  std::optional<Count> micro, global, grad_accum, tokens_per_step, local_batch;
};

/// Measured values, in the units of the keys.
struct TrainingMeasured {
  std::optional<double> iteration_time_s, tokens_per_s, tokens_per_s_per_gpu, samples_per_s, samples_per_s_per_gpu,
      tflops_per_gpu, mfu, hfu, layer_total_ms;
  std::optional<double> memory_per_gpu_gb, memory_per_gpu_gib, memory_allocated_gib, memory_allocated_bytes;
  std::string tflops_kind, memory_kind;
};

struct TrainingRow {
  std::string id;
  std::string where;     ///< file, line and row, for messages
  std::string software;  ///< value of the key "software", "framework" or "stack"
  std::string software_version;
  std::string assumed;  ///< inputs that the source does not state, from the key "assumed"
  std::string family, precision, recompute, attention, flops_convention, optimizer, scope, quality, date, notes;
  std::string adapters;  ///< keys "lora", "lora_rank", "lora_targets" and "adapters" with their values
  RowSource source;
  TrainingModel model;
  TrainingHardware hardware;
  TrainingParallelism parallelism;
  TrainingBatch batch;
  TrainingMeasured measured;
  std::optional<double> activation_offload_layers, offload_alpha;
  /// Values that the dataset's curators derived with the row's convention.
  std::optional<double> derived_iteration_time_s, derived_tokens_per_s_per_gpu;
};

/// Reads a row, except for its id. Throws InputError.
TrainingRow read_training_row(const RowObject& row, const std::string& id);

/// Widths of latent attention in a training or inference row, by the keys of a config.json ("kv_lora_rank") or shorter
/// ones ("kv_lora"). Absent if a required width is missing.
std::optional<MlaRow> read_latent_widths(const RowObject& o);

/// Reads the source of a training or inference row.
RowSource read_source(const RowObject& row);

}  // namespace llmcalc
