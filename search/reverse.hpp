#pragma once
/// Inverse queries: the resources that a goal needs, and the largest workload that fits.

#include "search/numbers.hpp"

namespace llmcalc {

/// The best plans for a run on a cluster, with a separate search for each device count.
struct Offer {
  std::optional<Found> best{};     ///< best plan by the objective, among those that meet the deadline if there is one
  std::optional<Found> fastest{};  ///< the fastest plan, whether or not it meets the deadline
  bool stopped = false;            ///< whether the search was stopped early
};
/// Searches each device count. Precondition: the objective is not memory, so that the best plan for each device count
/// is also the fastest.
Offer offer(const Space& space, double tokens, std::optional<Seconds> deadline, const Searching& searching);

/// A complete training setup.
struct Setup {
  Arch arch{};
  Plan plan{};
  Layout layout{};
  Cluster cluster{};
};
/// Bytes missing on the device, plus bytes missing on the host if its capacity is known; 0: the setup fits.
/// Precondition: the setup is valid.
Bytes lacking(const Setup& s);

/// The largest value that fits if everything else is unchanged; absent if even the smallest value does not fit.
std::optional<Count> largest_micro_batch(const Setup& s);  ///< a divisor of a replica's batch
std::optional<Count> largest_sequence(const Setup& s);  ///< divides evenly by context ranks; within learned positions
/// Largest number of sequences per step, among those with a valid number of micro-batches for the pipeline. 0: any
/// number fits, because more micro-batches do not increase the number in flight.
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
  more_sharding,  ///< the lowest ZeRO stage that suffices
  adam8bit,
  bf16_gradients,
  offloaded_activations,
  offloaded_optimizer,
  offloaded_weights
};
struct Remedied {
  Remedy remedy = Remedy::selective_recompute;
  Plan plan{};
  Layout layout{};  ///< uses the same number of devices if dp can shrink accordingly, otherwise more
  Seconds step{};
  Bytes peak{};
};
/// For each kind of change, the smallest change that makes the plan fit, ordered by device-seconds per step. Empty if
/// the plan fits already or no single change suffices.
std::vector<Remedied> remedies(const Setup& s);

}  // namespace llmcalc
