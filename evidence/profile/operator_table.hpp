#pragma once
/// Tables of operators: measured times of a served model's layers on one device, as serving engines' profilers write
/// them. A folder DEVICE/MODEL/tpN holds
///
///   dense.csv         layer, tokens, time_us                      projections, norms, activations, by tokens
///   attention.csv     prefill_chunk, kv_prefill, n_decode, kv_decode, time_us
///                     one call for a chunk of a prompt behind kv_prefill tokens of it, and n_decode sequences that
///                     decode a token each, with kv_decode tokens in the cache
///   per_sequence.csv  layer, sequences, time_us                   head and sampler
///   moe.csv           tokens, activated_experts, time_us          a layer's experts with their router
///   meta.yaml         what was measured
///
/// of one of N tensor-parallel ranks. The first three must be there, moe.csv for models with experts. Of meta.yaml the
/// lines `gpu`, `hardware`, `model`, `variant`, `vllm_version`, `profiled_at` and, at any depth, `enforce_eager` are
/// read, and nothing else.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc {

/// The engine whose profilers write such tables, by the name of its software profile.
inline constexpr std::string_view engine_of_tables = "vllm";

/// A layer's time on a number of tokens, or of sequences.
struct LayerTime {
  std::string layer;
  Count tokens = 0;
  Seconds time;
};
struct AttentionTime {
  Count chunk = 0, past = 0;         ///< tokens of a prompt, and those before them; chunk 0: no prompt
  Count sequences = 0, context = 0;  ///< that decode, and the tokens that each has cached
  Seconds time;
};
struct ExpertsTime {
  Count tokens = 0, activated = 0;  ///< experts that at least one token goes to
  Seconds time;
};

/// What meta.yaml says; empty: nothing.
struct TableOrigin {
  std::string device, model, format, engine, date;
  std::optional<bool> eager;  ///< kernels were launched one by one, not from a captured graph
};

struct OperatorTables {
  std::string path;                         ///< as the user would type it
  std::string model_folder, device_folder;  ///< their names
  Count ranks = 1;                          ///< tensor-parallel ranks, one of which was measured
  TableOrigin origin;
  std::vector<LayerTime> dense, per_sequence;
  std::vector<AttentionTime> attention;
  std::vector<ExpertsTime> experts;
  std::vector<std::string> unread;  ///< columns that mean nothing here: "dense.csv: power_w"
  bool has_meta = false;            ///< meta.yaml is there
};

/// A time below this share of one with fewer tokens is a mistake. Kernels change with the size, and a few of them are
/// then 2.5 times as fast as before; a median of few runs wobbles besides.
inline constexpr double least_of_smaller = 1.0 / 3;

/// Reads every tpN folder that `folder` is or holds, itself DEVICE, MODEL or tpN; in order of their paths. Throws
/// InputError with file, line and reason.
std::vector<OperatorTables> read_operator_tables(const std::string& folder);

}  // namespace llmcalc
