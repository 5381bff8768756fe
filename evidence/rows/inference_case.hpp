#pragma once
/// An inference measurement as inputs of the calculation, with measured values in base units.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "evidence/names/engine_name.hpp"
#include "evidence/rows/figure.hpp"
#include "evidence/rows/measurement_head.hpp"
#include "evidence/rows/row_cluster.hpp"
#include "serve/client_start.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc {

/// How requests arrive.
enum class BatchKind : std::uint8_t {
  fixed,         ///< one static batch
  concurrency,   ///< a fixed number of clients; each sends its next request when the previous one is answered
  max_inflight,  ///< all requests are queued at once
  capacity,      ///< memory only
  throughput     ///< a rate of prompts or tokens; requests arrive at any time
};

template <>
inline constexpr auto choices<BatchKind> =
    std::array{Choice{BatchKind::fixed, "static"}, Choice{BatchKind::concurrency, "concurrency"},
               Choice{BatchKind::max_inflight, "max-inflight"}, Choice{BatchKind::capacity, "capacity"},
               Choice{BatchKind::throughput, "throughput"}};

/// A measured value.
struct Figure {
  std::string key;  ///< key in the row: "tpot_ms"
  FigureKind quantity = FigureKind::time_per_token;
  double value = 0;               ///< value in base units; rates are totals over all devices of the run
  double said = 0;                ///< value as stated, in the key's unit
  double unit = 1;                ///< `value` = `said` x `unit`
  std::optional<double> context;  ///< mean tokens of a sequence that a decode step attends to
  Count devices = 1;              ///< number of devices over which memory is counted
  Statistic statistic = Statistic::mean;
  bool repeats = false;  ///< whether the figure is equivalent to another one of the row
  std::string doubt;     ///< why the row casts doubt on the figure; empty: no doubt
};

/// Engines that only process prompts (serve/fleet/disaggregated.hpp).
struct PromptPool {
  Layout layout{};
  Count engines = 1;
  bool operator==(const PromptPool&) const = default;
};

struct InferenceCase {
  MeasurementHead head{};
  Arch arch{};
  Plan plan{};  ///< batch, prompt and generate are rounded; batch is per replica
  Layout layout{};
  Count engines = 1;                        ///< number of engines with this layout
  std::optional<PromptPool> prompt_pool{};  ///< if prompts have engines of their own
  Count drafts = 0;                         ///< tokens drafted per sequence and pass by the plan's MTP modules
  double acceptance = 0;                    ///< probability that a draft after accepted ones is accepted
  RowCluster on{};                          ///< device and cluster
  EngineName engine{};
  BatchKind kind = BatchKind::fixed;
  std::optional<ClientStart> start{};    ///< clients of a closed loop; absent: unstated, simulated as together
  double batch = 1;                      ///< sequences in flight, or clients, over all replicas
  double prompt = 0;                     ///< mean prompt tokens
  double generate = 0;                   ///< mean generated tokens
  double cached = 0;                     ///< tokens per sequence that are cached before the run's prompt
  double room = 0;                       ///< cache capacity per sequence in tokens; 0: not stated
  bool decode_window = false;            ///< whether decode steps contain no prompts, regardless of `kind`
  std::optional<double> length_ratio{};  ///< lengths are uniform from this fraction of the nominal length to all of it
  std::optional<double> requests{};      ///< number of requests sent
  std::optional<double> bits_per_weight{};  ///< stated bits per weight; more precise than the plan's formats
  std::optional<double> weight_bytes{};
  std::string weights_name{};  ///< name of the weight format if the plan uses a substitute; empty: the blocks' format
  EngineLimits limits{};       ///< limits as stated, otherwise vLLM's defaults on the device
  Bytes granted{};             ///< bytes of a device that the engine may use
  Count nodes = 1;             ///< number of nodes over which rates per node are counted
  std::optional<double> decode_context{};  ///< mean number of tokens per sequence that decoding attends to, if stated
  std::vector<Figure> figures{};
  std::vector<std::string> assumed{};  ///< assumptions, as sentences
  bool input_assumed = false;          ///< whether a figure depends strongly on an assumption
  bool work_assumed = false;           ///< whether that assumption concerns the batch or a length
  std::string skip{};  ///< if not empty, why the row cannot be expressed; the other members are then undefined

  const Cluster& cluster() const { return on.cluster(); }
  /// Records an assumption on which figures depend strongly.
  void weigh(std::string sentence) {
    assumed.push_back(std::move(sentence));
    input_assumed = true;
  }
  /// Number of schedulers over which sequences in flight are spread: attention replicas of all engines that decode.
  Count schedulers() const { return mul(replicas(layout), engines); }
};

}  // namespace llmcalc
