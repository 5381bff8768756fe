#pragma once
/// The plans that a search compares: every way to lay a model over a number of devices and to cut its batch.

#include <optional>
#include <string_view>
#include <vector>

#include "calc/train.hpp"

namespace llmcalc {

/// What makes a plan better than another.
enum class Objective : std::uint8_t {
  time,    ///< of an optimizer step
  cost,    ///< of an optimizer step: device-hours x price
  energy,  ///< of an optimizer step: device-seconds x watts, in joules
  memory   ///< the peak of the fullest device
};
template <>
inline constexpr auto choices<Objective> =
    std::array{Choice{Objective::time, "time"}, Choice{Objective::cost, "cost"}, Choice{Objective::energy, "energy"},
               Choice{Objective::memory, "memory"}};

/// A plan of the space: all that a search chooses. Devices: tp x cp x pp x dp.
struct Candidate {
  Count gpus = 1;
  Count tp = 1, cp = 1, ep = 1, etp = 0, pp = 1, dp = 1;  ///< as in Layout
  Count chunks = 1, micro_batch = 1;
  bool sp = false;
  Recompute recompute = Recompute::none;
  Count block = 0;  ///< under full recomputation: the layers of each chunk that run again; 0: as the plan says
  Zero zero = Zero::none;
  Schedule schedule = Schedule::one_f_one_b;
  constexpr bool operator==(const Candidate&) const = default;
};
/// Whether `a` comes first of plans that are equally good: less recomputed, sharded and scheduled, fewer ranks to talk
/// to. An order of all candidates.
bool simpler(const Candidate& a, const Candidate& b);

/// Values that are given; what is absent, or 0, is searched.
struct Fixed {
  Count tp = 0, cp = 0, ep = 0, etp = 0, pp = 0, chunks = 0, micro_batch = 0;
  std::optional<bool> sp{};
  std::optional<Recompute> recompute{};
  std::optional<Zero> zero{};
  std::optional<Schedule> schedule{};
};

/// A model, what is given of its plan and layout, a cluster, and what is asked. The plan states seq, global_batch,
/// optimizer and formats; the layout the method of context parallelism, the order of its axes, the load of experts, and
/// how states are sharded.
struct Space {
  Arch arch{};
  Plan plan{};
  Layout layout{};
  Cluster cluster{};
  std::vector<Count> gpus{};  ///< numbers of devices to try
  Objective objective = Objective::time;
  double price_per_hour = 1, watts = 1;  ///< of a device
  std::vector<Count> blocks{};           ///< numbers of layers of each chunk to recompute, besides all of them
  Fixed fixed{};
  std::size_t best = 10;       ///< plans to return
  bool some_numbers = false;   ///< other numbers of devices were possible, and were left out
  bool offload_tried = false;  ///< nothing fits, whatever lies on the host
};

/// The schedules that a search tries.
inline constexpr std::array searched_schedules{Schedule::one_f_one_b, Schedule::interleaved, Schedule::zb_h1,
                                               Schedule::zb_h2, Schedule::zb_v};

/// Sets what runs again in backward.
void recompute_as(Plan& p, const Candidate& c);
Plan plan_of(const Space& space, const Candidate& c);
Layout layout_of(const Space& space, const Candidate& c);

/// Seconds and bytes as the objective counts them.
double value_of(const Space& space, Count gpus, Seconds step, Bytes peak);
/// Bytes of a device that a plan may use.
Bytes usable(const Space& space);

/// Whether some plan of the space can run, whether it fits or not.
bool any_possible(const Space& space);

/// Why a plan cannot run, before memory.
enum class Obstacle : std::uint8_t {
  none,
  devices,   ///< tp x cp x pp does not divide the devices
  batch,     ///< micro_batch x dp does not divide the global batch
  layout,    ///< see LayoutFlaw
  pipeline,  ///< see PipelineFlaw
  layers,    ///< more chunks than layers
  shards,    ///< the ranks that share out states do not divide those that hold the same weights, or these cannot be
             ///< shared out
  link       ///< no link joins the ranks of a group
};
struct Objection {
  Obstacle obstacle = Obstacle::none;
  LayoutFlaw layout = LayoutFlaw::none;
  PipelineFlaw pipeline = PipelineFlaw::none;
  Group group = Group::tensor;  ///< without a link
};
Objection objection(const Space& space, const Candidate& c);
Objection objection(const Arch& arch, const Plan& plan, const Layout& layout, const Cluster& cluster);
/// The objection to a layout, whatever its schedule and chunks.
Objection layout_objection(const Space& space, const Candidate& c);

/// Whether ZeRO changes anything: there are ranks to share states out to, or a host where its gradients lie.
bool can_shard(const Space& space, const Candidate& c);

/// The divisors of n, and the powers of two among them, in rising order.
std::vector<Count> divisors(Count n);
std::vector<Count> powers_of_two(Count n);
/// Numbers of devices up to `most` that are powers of two.
std::vector<Count> powers_up_to(Count most);

/// Plans that differ in what rows do not depend on: stages, replicas, schedules and sharding. `of` has pp, dp, chunks,
/// schedule and zero as they are by default.
std::vector<Candidate> keys(const Space& space);
/// The numbers of pipeline stages that a key can have.
std::vector<Count> stage_counts(const Space& space, const Candidate& key);
/// Schedules and chunks for a number of stages.
struct Run {
  Schedule schedule = Schedule::one_f_one_b;
  Count chunks = 1;
};
std::vector<Run> runs(const Space& space, Count stages);
/// ZeRO stages of a plan that differ in something; none where it has no ranks to shard over and the space asks for it.
std::vector<Zero> zeros(const Space& space, const Candidate& c);

/// What a search over this space leaves out, a sentence each.
std::vector<std::string_view> not_searched(const Space& space);

}  // namespace llmcalc
