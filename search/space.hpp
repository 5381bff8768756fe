#pragma once
/// The plans that a search compares: all ways to map a model to a number of devices and to divide its batch.

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

/// The quantity by which plans are compared.
enum class Objective : std::uint8_t {
  time,    ///< time per optimizer step
  cost,    ///< cost per optimizer step: device-hours x price
  energy,  ///< energy per optimizer step: device-seconds x watts, in joules
  memory   ///< peak of the fullest device
};
template <>
inline constexpr auto choices<Objective> =
    std::array{Choice{Objective::time, "time"}, Choice{Objective::cost, "cost"}, Choice{Objective::energy, "energy"},
               Choice{Objective::memory, "memory"}};

/// A plan in the search space: all choices that a search makes. Devices: tp x cp x pp x dp.
struct Candidate {
  Count gpus = 1;
  Count tp = 1, cp = 1, ep = 1, etp = 0, pp = 1, dp = 1;  ///< degrees of parallelism, as in Layout
  Count chunks = 1, micro_batch = 1;
  bool sp = false;
  Recompute recompute = Recompute::none;
  Count block = 0;  ///< under full recomputation: number of layers to recompute in each chunk; 0: as in the plan
  Zero zero = Zero::none;
  Schedule schedule = Schedule::one_f_one_b;
  constexpr bool operator==(const Candidate&) const = default;
};
/// Whether `a` is preferred to `b` if they are equally good: less recomputation, simpler schedule and sharding,
/// smaller groups. A total order of candidates.
bool simpler(const Candidate& a, const Candidate& b);

/// Choices that the user fixes. A search tries all values of a choice that is absent or 0.
struct Fixed {
  Count tp = 0, cp = 0, ep = 0, etp = 0, pp = 0, chunks = 0, micro_batch = 0;
  std::optional<bool> sp{};
  std::optional<Recompute> recompute{};
  std::optional<Zero> zero{};
  std::optional<Schedule> schedule{};
};

/// The schedules that a search tries.
inline constexpr std::array searched_schedules{Schedule::one_f_one_b, Schedule::interleaved, Schedule::zb_h1,
                                               Schedule::zb_h2, Schedule::zb_v};

/// Capabilities of the software, which limit a search.
struct Launchable {
  std::vector<Schedule> schedules{searched_schedules.begin(), searched_schedules.end()};
  bool tp = true, sp = true, cp = true, ep = true, pp = true;
  std::array<bool, 4> zero{true, true, true, true}, zero_in_pipeline{true, true, true, true};  ///< supported stages
};

/// A model, the fixed part of its plan and layout, a cluster and an objective. The plan sets seq, global_batch,
/// optimizer and formats; the layout sets the method of context parallelism, the order of the axes, the load of
/// experts and how states are sharded.
struct Space {
  Arch arch{};
  Plan plan{};
  Layout layout{};
  Cluster cluster{};
  std::vector<Count> gpus{};  ///< device counts to try
  Objective objective = Objective::time;
  double price_per_hour = 1, watts = 1;  ///< price and power of one device
  Launchable launchable{};
  /// Whether the process of a plan whose tensors peak at `peak` is expected to fit. If empty, only the tensors must
  /// fit.
  /// Called from all threads of a search, for plans that would enter its lists.
  std::function<bool(const Space&, const Candidate&, Bytes peak)> process_fits{};
  std::vector<Count> blocks{};  ///< numbers of layers per chunk to recompute, tried in addition to all layers
  Fixed fixed{};
  std::size_t best = 10;       ///< number of plans to return
  bool some_numbers = false;   ///< whether `gpus` omits possible device counts
  bool offload_tried = false;  ///< whether offload was also tried, and no plan fits even with it
};

/// Sets a plan's recomputation as in a candidate.
void recompute_as(Plan& p, const Candidate& c);
Plan plan_of(const Space& space, const Candidate& c);
Layout layout_of(const Space& space, const Candidate& c);

/// Value of the objective for this step time and peak memory.
double value_of(const Space& space, Count gpus, Seconds step, Bytes peak);
/// Bytes of device memory that a plan may use.
Bytes usable(const Space& space);

/// Whether the space has a valid plan, even if no plan fits.
bool any_possible(const Space& space);

/// Reason a plan is invalid, other than memory.
enum class Obstacle : std::uint8_t {
  none,
  devices,   ///< tp x cp x pp does not divide the number of devices
  batch,     ///< micro_batch x dp does not divide the global batch
  layout,    ///< invalid layout: see LayoutFlaw
  pipeline,  ///< invalid pipeline: see PipelineFlaw
  layers,    ///< more chunks than layers
  shards,    ///< the size of the shard group does not divide the number of ranks with the same weights, or the weights
             ///< cannot be sharded
  link       ///< no link connects the ranks of a group
};
struct Objection {
  Obstacle obstacle = Obstacle::none;
  LayoutFlaw layout = LayoutFlaw::none;
  PipelineFlaw pipeline = PipelineFlaw::none;
  Group group = Group::tensor;  ///< the group without a link
};
Objection objection(const Space& space, const Candidate& c);
Objection objection(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster);
/// The objection to a layout, if any, regardless of the schedule and chunks.
Objection layout_objection(const Space& space, const Candidate& c);

/// Whether ZeRO has an effect: there are ranks across which states can be sharded, or a host that stores gradients.
bool can_shard(const Space& space, const Candidate& c);

/// Divisors of n, and the powers of two among them, in increasing order.
std::vector<Count> divisors(Count n);
std::vector<Count> powers_of_two(Count n);
/// Device counts up to `most` that are powers of two.
std::vector<Count> powers_up_to(Count most);

/// One key per set of plans with the same row prices, which do not depend on stages, replicas, schedules or sharding.
/// Keys have default values of pp, dp, chunks, schedule and zero.
std::vector<Candidate> keys(const Space& space);
/// Whether two keys have the same row prices: they differ only in the number of recomputed layers. keys() lists such
/// keys next to each other.
bool priced_alike(const Candidate& a, const Candidate& b);
/// Whether two keys differ only in recomputation.
bool sharded_alike(const Candidate& a, const Candidate& b);
/// The possible numbers of pipeline stages for a key.
std::vector<Count> stage_counts(const Space& space, const Candidate& key);
/// A schedule and a number of chunks per rank, for a given number of stages.
struct Run {
  Schedule schedule = Schedule::one_f_one_b;
  Count chunks = 1;
};
std::vector<Run> runs(const Space& space, Count stages);
/// The ZeRO stages with distinct effects on a plan; empty if the space requires sharding and the plan has no ranks
/// to shard across.
std::vector<Zero> zeros(const Space& space, const Candidate& c);

/// Choices that a search over this space omits, one phrase per choice.
std::vector<std::string_view> not_searched(const Space& space);

}  // namespace llmcalc
