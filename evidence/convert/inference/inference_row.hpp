#pragma once
/// Contents of an inference row. Values that the source does not state are absent; strings are empty.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evidence/convert/training/training_row.hpp"

namespace llmcalc {

struct InferenceModel {
  std::string name, sliding_pattern, attention;
  Count layers = 0, hidden = 0, heads = 0;
  std::optional<Count> kv_heads, head_dim, ffn, vocab, sliding_window;
  std::optional<bool> gated_mlp, tied_embeddings, qkv_bias, parallel_block;
  std::optional<Count> experts, top_k, moe_ffn, shared_experts, shared_ffn, dense_layers, moe_every;
  bool recurrent = false;  ///< whether some layers have a recurrent state instead of softmax attention
  std::optional<MlaRow> mla;
  std::optional<ModelCard> config;  ///< the model's config.json, which determines all shapes
};

struct InferenceHardware {
  std::string accelerator, interconnect;
  Count count = 1;
  std::optional<Count> nodes, gpu_cores;
  std::optional<double> memory_gb, peak_bw_gb_s, power_limit_w;
  std::optional<double> total_gib,
      usable_gib;  ///< memory of one device as seen by the engine, and the part that the engine may use
};

/// Requests and their lengths in tokens. Means may be fractional.
struct InferenceBatch {
  std::string kind, scope, input_note, context_said;
  std::optional<double> batch, input_len, output_len, nominal_input_len, nominal_output_len, length_range_ratio,
      context_len, decode_context_mean, cached_context, tokens_per_gpu, num_requests, gpu_memory_utilization,
      max_model_len;
  std::optional<Count> max_num_batched_tokens, max_num_seqs, block_size;
  std::optional<bool> kv_limited_estimate;
  std::string start;  ///< how clients start, in the source's words
};

/// Engines of disaggregated serving that do the same work.
struct EnginePool {
  Count tp = 1, ep = 1;
  Count engines = 0;                  ///< 0: not stated
  bool replicated_attention = false;  ///< whether attention is data-parallel over the `tp` ranks
};

struct InferenceRow {
  std::string id;
  std::string where;  ///< file, line and row, for messages
  std::string engine, version, date, notes, tier;
  std::string back_end;    ///< "ROCm", "Vulkan"; empty: not stated
  std::string other_keys;  ///< text of unknown keys, except the model's: "speculative: MTP; "
  bool core = false;
  RowSource source;
  InferenceModel model;
  std::string weights, kv, activations;  ///< number formats as the source writes them
  std::optional<double> file_size_gib;   ///< size of the weights file
  InferenceHardware hardware;
  std::optional<Count> tp, pp, ep, dp;
  bool disaggregated = false;
  EnginePool prefill, decode;  ///< of disaggregated serving
  std::string speculative;     ///< "mtp": drafts by MTP modules, without further details; "none"
  InferenceBatch batch;
  std::vector<std::pair<std::string, double>> measured;  ///< measured values by key, in the key's unit
  bool prefill_suspect = false;

  /// Measured value under a key, in the key's unit.
  std::optional<double> measured_at(std::string_view key) const {
    for (const auto& [name, value] : measured)
      if (name == key) return value;
    return std::nullopt;
  }
};

/// Reads a row, except for its id. Throws InputError.
InferenceRow read_inference_row(const RowObject& row, const std::string& id);

}  // namespace llmcalc
