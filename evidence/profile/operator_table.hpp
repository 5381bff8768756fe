#pragma once
/// Operator tables: measured times of a served model's layers on one device, as written by profilers of serving
/// engines. A folder DEVICE/MODEL/tpN holds
///
///   dense.csv         layer, tokens, time_us                      projections, norms, activations, by tokens
///   attention.csv     prefill_chunk, kv_prefill, n_decode, kv_decode, time_us
///                     one call for a prompt chunk after kv_prefill earlier tokens, and n_decode sequences that each
///                     decode a token with kv_decode tokens in the cache
///   per_sequence.csv  layer, sequences, time_us                   head and sampler
///   moe.csv           tokens, activated_experts, time_us          a layer's experts with their router
///   meta.yaml         origin of the measurements
///
/// for one of N tensor-parallel ranks. The first three files are required, and moe.csv for models with experts. Only
/// these lines of meta.yaml are read: `gpu`, `hardware`, `model`, `variant`, `vllm_version`, `profiled_at` and, at any
/// depth, `enforce_eager`.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc {

/// Engine whose profilers write these tables, by the name of its software profile.
inline constexpr std::string_view engine_of_tables = "vllm";

/// Time of a layer for a number of tokens or sequences.
struct LayerTime {
  std::string layer;
  Count tokens = 0;
  Seconds time;
};
struct AttentionTime {
  Count chunk = 0, past = 0;         ///< prompt tokens, and earlier tokens of the prompt; chunk 0: no prompt
  Count sequences = 0, context = 0;  ///< decoding sequences, and cached tokens of each
  Seconds time;
};
struct ExpertsTime {
  Count tokens = 0, activated = 0;  ///< tokens of a pass, and number of experts with at least one token
  Seconds time;
};

/// Values in meta.yaml; empty if missing.
struct TableOrigin {
  std::string device, model, format, engine, date;
  std::optional<bool> eager;  ///< whether kernels were launched one by one rather than from a captured graph
};

struct OperatorTables {
  std::string path;                         ///< path of the folder, as the user would type it
  std::string model_folder, device_folder;  ///< names of the folders
  Count ranks = 1;                          ///< tensor-parallel ranks; only one was measured
  TableOrigin origin;
  std::vector<LayerTime> dense, per_sequence;
  std::vector<AttentionTime> attention;
  std::vector<ExpertsTime> experts;
  std::vector<std::string> unread;  ///< ignored columns: "dense.csv: power_w"
  bool has_meta = false;            ///< whether meta.yaml exists
};

/// A time below this fraction of the time for fewer tokens is an error. The limit is this low because kernels change
/// with size, so that a larger size may run 2.5 times faster, and because medians over few runs fluctuate.
inline constexpr double least_of_smaller = 1.0 / 3;

/// Reads every tpN folder in `folder`, which is a DEVICE, MODEL or tpN folder, sorted by path. Throws InputError with
/// file, line and reason.
std::vector<OperatorTables> read_operator_tables(const std::string& folder);

}  // namespace llmcalc
