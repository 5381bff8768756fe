#pragma once
/// How a serving engine divides the memory of a device, and the limits of its passes.
///
/// "server": { "memory": "share",              of the device (vLLM): the cache is the rest of a share of visible memory
///                       "static share"        for weights and cache (SGLang): activations are outside the share
///                       "share of free"       of the memory that is free after weights and activations (TensorRT-LLM)
///                       "whole"               the cache is allocated as requested, up to all of the memory (llama.cpp)
///             "utilization"?: 0.9             that share; absent for "static share": computed from "by_memory"
///             "graphs_gib"?: 0.5              memory reserved for recorded graphs before the cache is allocated
///             "pass_tokens"?, "sequences"?, "block_tokens"?: limits; absent: vLLM's (engine_memory_table.hpp);
///                                             "pass_tokens": "prompts": all prompts of a batch are one pass
///             "sparse_latent_rows"?: "scaled" cache rows of sparse latent attention have scales
///                                             (CacheFormats::scaled_latent, scaled_index)
///             "window_shares"?: {"gpt_oss": 0.8}: slots of layers with a window per cached token, by the start of the
///                                             model's family (SGLang, --swa-full-tokens-ratio); in other families
///                                             every layer caches every token. Absent: as many as the sequences need
///             "logit_bytes"?: {"per_sequence" or "per_token"}: bytes per logit in the largest pass (llama.cpp), of the
///                                             sequences or of all tokens of the pass; absent: vLLM's, else 0
///             "by_ranks"?: [{"ranks", "utilization"}]: the default share from this many tensor-parallel ranks on
///             "by_memory"?: [{"below_gib"?, "pass_tokens", "graph_batch", "graph_batch_tp4"}], or with
///                           "reserved_gib", "reserved_gib_per_rank" instead of the graphs' batches }
///
/// Static share (SGLang, server_args.py, _handle_gpu_memory_settings), in MiB, with device memory M: reserved = 512 +
/// 1.5 max(pass_tokens, 2048) + 2 graph_batch + 1024 tp pp / 8, at least 10240 above 60 GiB; share = (M - reserved) /
/// M, rounded to three digits. With "reserved_gib" r and "reserved_gib_per_rank" s: reserved = 1024 (r + s tp pp). The
/// first entry of "by_memory" whose limit exceeds M applies.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/engine_memory.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct EngineLaw {
  struct BySize {
    std::optional<Bytes> below;
    Count pass_tokens = 8192;
    Count graph_batch = 256, graph_batch_tp4 = 512;  ///< largest batch with a captured graph: below tp 4, and from tp
                                                     ///< 4 on
    std::optional<double> reserved_gib;  ///< GiB that are reserved, used instead of the formula with graph batches
    double reserved_gib_per_rank = 0;
  };
  struct ByRanks {
    Count ranks = 1;
    double utilization = 0;
  };
  CacheGrant grant = CacheGrant::share;
  std::optional<double> utilization;
  Bytes graphs{};
  std::optional<Count> pass_tokens, sequences, block_tokens;
  bool whole_prompts = false;       ///< whether all prompts of a batch form a single pass of any length
  bool scaled_sparse_rows = false;  ///< whether cache rows of sparse latent attention have scales
  std::vector<std::pair<std::string, double>> window_shares;
  double logit_bytes_per_sequence = 0, logit_bytes_per_token = 0;
  std::vector<ByRanks> by_ranks;  ///< default shares by rank count, in ascending order
  std::vector<BySize> by_memory;
};

/// Throws InputError if the object is invalid.
EngineLaw read_engine_law(const json::Object& o);

/// Slots of layers with a window per cached token, for a model of this family; 0: as many as the sequences need.
double window_share(const EngineLaw& law, std::string_view family);
/// The entry of "by_memory" for a device; null if there is no "by_memory".
const EngineLaw::BySize* size_class(const EngineLaw& law, Bytes memory);
/// The default share for a device with this memory and a model on `tensor_ranks` tensor-parallel ranks and `stages`
/// pipeline stages.
double default_utilization(const EngineLaw& law, Bytes memory, Count tensor_ranks, Count stages);

}  // namespace llmcalc
