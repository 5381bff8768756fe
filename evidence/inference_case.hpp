#pragma once
/// A row of inference as the engine's inputs, and what was measured, in base units.

#include <optional>
#include <string>
#include <vector>

#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "evidence/engine_name.hpp"
#include "evidence/figure.hpp"
#include "evidence/inference_row.hpp"
#include "evidence/row_cluster.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

/// How requests come.
enum class BatchKind {
  fixed,         ///< one static batch
  concurrency,   ///< so many clients, each of whom asks again when it is answered
  max_inflight,  ///< everything is queued at once
  capacity,      ///< memory only
  throughput     ///< a rate of prompts or of tokens, requests as they come
};

/// One measured number.
struct Figure {
  std::string key;  ///< of the row: "tpot_ms"
  FigureKind quantity = FigureKind::time_per_token;
  double value = 0;               ///< in base units; rates over all devices of the run
  double unit = 1;                ///< value / unit is what the row says
  std::optional<double> context;  ///< tokens of a sequence that a decode step sees, in the mean
  Count devices = 1;              ///< over which memory is counted
  Statistic statistic = Statistic::mean;
  bool repeats = false;  ///< another figure of the row says the same
  std::string doubt;     ///< not empty: why the row itself advises against it
};

struct InferenceCase {
  Arch arch;
  Plan plan;  ///< batch, prompt and generate are rounded; batch is a replica's
  Layout layout;
  RowCluster on;  ///< device and cluster
  EngineName engine;
  BatchKind kind = BatchKind::fixed;
  double batch = 1;                       ///< sequences in flight, or clients, of all replicas
  double prompt = 0;                      ///< mean tokens of a prompt
  double generate = 0;                    ///< mean tokens that are generated
  double cached = 0;                      ///< tokens of a sequence that are in the cache before its prompt
  double room = 0;                        ///< tokens of a sequence that the cache has room for; 0: not stated
  bool decode_window = false;             ///< sequences decode with no prompt among them, whatever the kind is
  std::optional<double> length_ratio;     ///< lengths are uniform between this share of the nominal ones and all of it
  std::optional<double> requests;         ///< how many were sent
  std::optional<double> bits_per_weight;  ///< as stated: more exact than the plan's formats
  std::optional<double> weight_bytes;
  std::string weights_name;  ///< of the weights' format, where another stands for it; empty: that of the blocks
  EngineLimits limits;       ///< as stated, else what vLLM allows itself on such a device
  Bytes granted;             ///< bytes of a device that the engine may fill
  std::vector<Figure> figures;
  std::vector<std::string> assumed;  ///< sentences
  bool input_assumed = false;        ///< whether a figure depends strongly on something assumed
  bool work_assumed = false;         ///< whether that is the batch or a length
  std::string skip;                  ///< not empty: why the row cannot be expressed; all else is undefined

  const Cluster& cluster() const { return on.cluster(); }
};

InferenceCase inference_case(const InferenceRow& row, const Devices& devices);

}  // namespace llmcalc
