#pragma once
/// Where formulas and hardware meet: cost + device -> seconds, and what bounds them. An operator takes
/// max(FLOPs / peak, bytes / bandwidth) (Williams et al. 2009), and on a machine that does not overlap the two what it
/// leaves exposed of the shorter (as in the ECM model, Treibig & Hager 2009); communication is added as far as it is
/// exposed.

#include <array>
#include <cstdint>
#include <string_view>

#include "calc/cost.hpp"
#include "calc/device.hpp"
#include "calc/plan.hpp"
#include "calc/units.hpp"

namespace llmcalc {

enum class Bound : std::uint8_t { compute, memory, communication, latency };
inline constexpr std::array<std::string_view, 4> bound_names{"compute", "memory", "communication", "latency"};

/// What a device delivers: its datasheet (a bound), or the fractions of it that were measured or stated (an estimate).
struct Rates {
  FlopsPerSecond compute;  ///< of the blocks' matrices
  BytesPerSecond memory;
  FlopsPerSecond working{};                 ///< of all else, where that is another format; 0: as compute
  Seconds launch{};                         ///< per operator
  Seconds launch_backward{};                ///< per operator's gradient; 0: as launch
  Seconds recorded{}, recorded_backward{};  ///< where a pass runs from a recording; 0: it does not
  double link = 1;                          ///< achieved fraction of a link's bandwidth
  double exposed = 0;                       ///< of the shorter of compute and memory time
  CoreRates attention{};
  double half_matmul = 0, functions = 0;
  BytesPerSecond cache_bandwidth{};
  Bytes cache{};
  /// Are the products of the blocks in another format than all else?
  constexpr bool mixed() const { return working.value > 0; }
  /// Do all operators reach the same rates?
  constexpr bool uniform() const {
    return !mixed() && launch_backward.value == 0 && recorded.value == 0 && exposed == 0 &&
           attention.forward.value == 0 && half_matmul == 0 && functions == 0 && cache_bandwidth.value == 0;
  }
};

Rates bound_rates(const Device& device, const Plan& plan);
Rates estimated_rates(const Device& device, const Plan& plan);
/// Are there efficiencies, stated in the plan or measured on the device?
bool has_estimate(const Device& device, const Plan& plan);

/// What one pass over one operator runs at.
struct OpRates {
  FlopsPerSecond compute;
  BytesPerSecond memory;
  Seconds launch{};
  double exposed = 0;
};
/// The peak of the format that an operator multiplies in.
constexpr FlopsPerSecond format_rate(const Op& op, const Rates& r) {
  return r.mixed() && !(std::holds_alternative<Linear>(op.shape) && is_narrowed(op.component)) ? r.working : r.compute;
}
/// The rates of an operator to which nothing else applies.
constexpr OpRates op_rates(const Rates& r) { return {r.compute, r.memory, r.launch, r.exposed}; }
constexpr OpRates op_rates(const Op& op, const Rates& r) { return {format_rate(op, r), r.memory, r.launch, r.exposed}; }

/// Seconds by what they are spent on. Of compute and memory only the larger is not zero, where the shorter is hidden.
struct Time {
  Seconds compute{}, memory{}, communication{}, latency{};
  constexpr Seconds total() const { return compute + memory + communication + latency; }
  constexpr Time& operator+=(const Time& o) {
    compute += o.compute, memory += o.memory, communication += o.communication, latency += o.latency;
    return *this;
  }
};
constexpr Time operator*(double n, const Time& t) {
  return {n * t.compute, n * t.memory, n * t.communication, n * t.latency};
}
/// What takes most of the time.
Bound bound(const Time& t);

/// The rates that one pass over an operator reaches: a product F / (F + half_matmul) of `compute`, attention's core its
/// own. In inference activations that fit into the cache move at its pace, since their memory is used again and again;
/// what training makes is kept, and goes to memory. Training and decoding may run from CUDA graphs; a prompt does not.
/// An element-wise kernel is never faster than the functions that it evaluates. The launch of a gradient counts once,
/// with that of the inputs if there is one.
OpRates reached(const Op& op, const Cost& c, const Pricing& p, Direction direction, const Rates& r);

/// One pass over one operator: its executed FLOPs against its bytes, and of the shorter what is exposed.
constexpr Time op_time(double executed, double moved, const OpRates& r) {
  const Seconds compute(executed / r.compute.value), memory(moved / r.memory.value);
  if (compute >= memory) return {.compute = compute, .memory = r.exposed * memory, .latency = r.launch};
  return {.compute = r.exposed * compute, .memory = memory, .latency = r.launch};
}
constexpr Time op_time(const Cost& c, const OpRates& r) {
  return op_time(static_cast<double>(c.executed.value), c.moved.total(), r);
}

/// One direction of one operator at these rates; a gradient is that of inputs and of weights.
Time operator_time(const Op& op, const Pricing& p, Direction direction, const Rates& r);
Time backward_time(const Op& op, const Pricing& p, const Rates& r);

/// A whole pass as one operator whose activations never leave the chip: the roofline of a step. `compute`: of all its
/// FLOPs, each at the peak of its format.
Time step_time(Seconds compute, const Cost& whole, const Rates& r);

}  // namespace llmcalc
