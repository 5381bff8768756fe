#pragma once
/// A measurement of inference as the engine's inputs, and the measured values in base units.

#include <optional>
#include <string>
#include <vector>

#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "evidence/names/engine_name.hpp"
#include "evidence/rows/figure.hpp"
#include "evidence/rows/measurement_head.hpp"
#include "evidence/rows/row_cluster.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

/// How requests come.
enum class BatchKind : std::uint8_t {
  fixed,         ///< one static batch
  concurrency,   ///< so many clients, each of whom asks again when it is answered
  max_inflight,  ///< everything is queued at once
  capacity,      ///< memory only
  throughput     ///< a rate of prompts or of tokens, requests as they come
};

template <>
inline constexpr auto choices<BatchKind> =
    std::array{Choice{BatchKind::fixed, "static"}, Choice{BatchKind::concurrency, "concurrency"},
               Choice{BatchKind::max_inflight, "max-inflight"}, Choice{BatchKind::capacity, "capacity"},
               Choice{BatchKind::throughput, "throughput"}};

/// One measured number.
struct Figure {
  std::string key;  ///< of the row: "tpot_ms"
  FigureKind quantity = FigureKind::time_per_token;
  double value = 0;               ///< in base units; rates over all devices of the run
  double said = 0;                ///< in the key's unit
  double unit = 1;                ///< value = said x unit
  std::optional<double> context;  ///< tokens of a sequence that a decode step sees, in the mean
  Count devices = 1;              ///< over which memory is counted
  Statistic statistic = Statistic::mean;
  bool repeats = false;  ///< another figure of the row says the same
  std::string doubt;     ///< not empty: why the row itself advises against it
};

struct InferenceCase {
  MeasurementHead head{};
  Arch arch{};
  Plan plan{};  ///< batch, prompt and generate are rounded; batch is a replica's
  Layout layout{};
  RowCluster on{};  ///< device and cluster
  EngineName engine{};
  BatchKind kind = BatchKind::fixed;
  double batch = 1;                      ///< sequences in flight, or clients, of all replicas
  double prompt = 0;                     ///< mean tokens of a prompt
  double generate = 0;                   ///< mean tokens that are generated
  double cached = 0;                     ///< tokens of a sequence that are in the cache before its prompt
  double room = 0;                       ///< tokens of a sequence that the cache has room for; 0: not stated
  bool decode_window = false;            ///< sequences decode with no prompt among them, whatever the kind is
  std::optional<double> length_ratio{};  ///< lengths are uniform between this share of the nominal ones and all of it
  std::optional<double> requests{};      ///< how many were sent
  std::optional<double> bits_per_weight{};  ///< as stated: more exact than the plan's formats
  std::optional<double> weight_bytes{};
  std::string weights_name{};  ///< of the weights' format, where another stands for it; empty: that of the blocks
  EngineLimits limits{};       ///< as stated, else what vLLM allows itself on such a device
  Bytes granted{};             ///< bytes of a device that the engine may fill
  Count nodes = 1;             ///< over which rates per node are counted
  std::optional<double> decode_context{};  ///< tokens of a sequence that decoding sees in the mean, where stated
  std::vector<Figure> figures{};
  std::vector<std::string> assumed{};  ///< sentences
  bool input_assumed = false;          ///< whether a figure depends strongly on something assumed
  bool work_assumed = false;           ///< whether that is the batch or a length
  std::string skip{};                  ///< not empty: why the row cannot be expressed; all else is undefined

  const Cluster& cluster() const { return on.cluster(); }
};

}  // namespace llmcalc
