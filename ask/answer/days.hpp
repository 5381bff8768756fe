#pragma once
/// Number of GPUs needed to finish a run within a given number of days, and the cost of failures.

#include <optional>
#include <string>

#include "ask/request/request.hpp"
#include "calc/run.hpp"

namespace llmcalc {

/// Smallest number of GPUs that form whole replicas of the layout, or why no number suffices.
struct GpusForDays {
  std::optional<Count> gpus{};
  std::string note;  ///< how the GPUs meet the deadline, or why no number does
};

/// Bytes of a checkpoint: weights and optimizer states of the whole model.
Bytes checkpoint_bytes(const Request& r);
/// Failures of a run on `gpus` GPUs. Precondition: the request has --mtbf.
Failures failures_of(const Request& r, Count gpus);

/// Whether the plan's per-GPU throughput is used for any number of GPUs, because it was measured or stated as MFU.
bool keeps_rate(const Request& r);

/// Finds the fewest GPUs that process --tokens within --days. `rate`: tokens per second of all GPUs of the request. A
/// global batch that the user specified is split evenly across replicas; otherwise each replica keeps the plan's number
/// of sequences. Predicts the rate for each number of replicas unless keeps_rate(). Days include time lost to failures
/// (--mtbf). Precondition: the request has --tokens and --days.
GpusForDays gpus_for_days(const Request& r, double rate);

}  // namespace llmcalc
