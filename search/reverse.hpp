#pragma once
/// Questions asked the other way round: what does a goal need, what is the most that fits.

#include "search/numbers.hpp"

namespace llmcalc {

/// What a cluster has to offer to a run, each number of its devices searched by itself.
struct Offer {
  std::optional<Found> best{};     ///< the best by the objective of those that end in time; without a deadline of all
  std::optional<Found> fastest{};  ///< in time or not
  bool stopped = false;            ///< before the end
};
/// The objective must not be memory: of plans of one number of devices, the best is then the fastest.
Offer offer(const Space& space, double tokens, std::optional<Seconds> deadline, const Searching& searching);

/// A training plan by itself.
struct Setup {
  Arch arch{};
  Plan plan{};
  Layout layout{};
  Cluster cluster{};
};
/// Bytes that it lacks, on the device and on the host where the host's are known; 0: it fits. It must be possible.
Bytes lacking(const Setup& s);

/// The most that fits with all else as it is; absent: not even the least does.
std::optional<Count> largest_micro_batch(const Setup& s);  ///< of those that divide the batch of a replica
std::optional<Count> largest_sequence(const Setup& s);     ///< that context-parallel ranks divide; of learned positions
/// A step of more micro-batches, of those that make no flaw of the pipeline; 0: any number fits, since a pipeline keeps
/// no more of them at once.
std::optional<Count> largest_global_batch(const Setup& s);

/// A single change that makes a plan fit.
enum class Remedy : std::uint8_t {
  selective_recompute,
  full_recompute,
  smaller_micro_batch,
  more_tensor_ranks,
  more_stages,
  more_context_ranks,
  more_expert_ranks,
  more_sharding,  ///< the next ZeRO stage that does it
  adam8bit,
  bf16_gradients,
  offloaded_activations,
  offloaded_optimizer,
  offloaded_weights
};
struct Remedied {
  Remedy remedy = Remedy::selective_recompute;
  Plan plan{};
  Layout layout{};  ///< with as many devices as before where replicas can give some, else with more
  Seconds step{};
  Bytes peak{};
};
/// For each kind of change its smallest that makes the plan fit; first the one that costs the least device-seconds per
/// step. Empty: it fits already, or no single change does it.
std::vector<Remedied> remedies(const Setup& s);

}  // namespace llmcalc
