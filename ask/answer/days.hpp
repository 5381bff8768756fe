#pragma once
/// The GPUs that a run needs to end in a number of days, and what failures cost it.

#include <optional>
#include <string>

#include "ask/request/request.hpp"
#include "calc/run.hpp"

namespace llmcalc {

/// The fewest GPUs in whole replicas of the layout, or the reason why there are none.
struct GpusForDays {
  std::optional<Count> gpus{};
  std::string note;  ///< how they reach it, or why none do
};

/// A checkpoint: weights and optimizer states of the whole model.
Bytes checkpoint_bytes(const Request& r);
/// Those of a run on `gpus` GPUs. Precondition: the request has --mtbf.
Failures failures_of(const Request& r, Count gpus);

/// Whether each GPU is taken to be as fast as in this plan: where the throughput is measured or stated as MFU.
bool keeps_rate(const Request& r);

/// Precondition: the request has --tokens and --days; `rate`: tokens per second of all its GPUs. A batch that is stated
/// is shared out evenly over the replicas; without one each has as many sequences as here. Where the rate is predicted
/// it is predicted again for each number of replicas. The days count what --mtbf costs.
GpusForDays gpus_for_days(const Request& r, double rate);

}  // namespace llmcalc
