#pragma once
/// The roofline: cost + device -> seconds, and what bounds them. An operator takes max(FLOPs / peak, bytes / bandwidth)
/// (Williams et al. 2009), plus the part of the shorter that the machine does not overlap (as in the ECM model, Treibig
/// & Hager 2009); exposed communication is added.

#include <array>
#include <cstdint>
#include <string_view>

#include "calc/cost/cost.hpp"
#include "calc/device.hpp"
#include "calc/plan.hpp"
#include "calc/units.hpp"

namespace llmcalc {

enum class Bound : std::uint8_t { compute, memory, communication, latency };
inline constexpr std::array<std::string_view, 4> bound_names{"compute", "memory", "communication", "latency"};

/// Rates of a device: its datasheet's (a bound), or the measured or stated fractions of them (an estimate).
struct Rates {
  FlopsPerSecond compute;  ///< rate of the blocks' matrices
  BytesPerSecond memory;
  BytesPerSecond bandwidth{};               ///< the datasheet's, which no kernel exceeds; 0: not known
  FlopsPerSecond working{};                 ///< rate of all else, if in another format; 0: as compute
  FlopsPerSecond orthogonalizing{};         ///< rate of Muon's products: in bf16, or as all else where that has no peak
  Seconds launch{};                         ///< per operator
  Seconds launch_backward{};                ///< per operator's gradient; 0: as launch
  Seconds recorded{}, recorded_backward{};  ///< launch times in a captured graph; 0: no graphs
  LinkRates links{};
  double exposed = 0;  ///< exposed share of the shorter of compute and memory time
  CoreRates attention{};
  double half_matmul = 0, functions = 0;
  double unaligned = 1;           ///< share of its rate that an unaligned product keeps
  Count numbers_in_16_bytes = 1;  ///< of the format that the blocks multiply in
  BytesPerSecond cache_bandwidth{};
  Bytes cache{};
  HostSide host{};  ///< as the datasheet has it
  Software software{};
  double hidden_inside = 0, hidden_beside = 1;  ///< by the plan, else by the software
  /// Hidden shares of exchanges between tensor-parallel ranks: beside the products that they belong to, and beside the
  /// gradients of weights.
  double hidden_tensor = 0, hidden_by_weights = 0;
  /// The hidden share of an exchange inside a layer.
  constexpr double hidden(Group g) const { return g == Group::tensor ? hidden_tensor : hidden_inside; }
  /// Whether the products of the blocks are in another format than all else.
  constexpr bool mixed() const { return working.value > 0; }
  /// Whether all operators reach the same rates, and launching them takes no time.
  constexpr bool uniform() const {
    return !mixed() && launch.value == 0 && launch_backward.value == 0 && recorded.value == 0 && exposed == 0 &&
           attention.forward.value == 0 && half_matmul == 0 && unaligned == 1 && functions == 0 &&
           cache_bandwidth.value == 0 && software == Software();
  }
};

Rates bound_rates(const Device& device, const Plan& plan);
Rates estimated_rates(const Device& device, const Plan& plan);
/// Whether efficiencies are stated in the plan or measured on the device.
bool has_estimate(const Device& device, const Plan& plan);

/// The rates of one pass over one operator.
struct OpRates {
  FlopsPerSecond compute;
  BytesPerSecond memory;
  Seconds launch{};
  double exposed = 0;
};
/// The rate of the format that an operator multiplies in.
constexpr FlopsPerSecond format_rate(const Op& op, const Rates& r) {
  return r.mixed() && !op.narrow ? r.working : r.compute;
}
/// The rates of an operator to which nothing else applies.
constexpr OpRates op_rates(const Rates& r) { return {r.compute, r.memory, r.launch, r.exposed}; }
constexpr OpRates op_rates(const Op& op, const Rates& r) { return {format_rate(op, r), r.memory, r.launch, r.exposed}; }

/// Seconds by cause. Where compute and memory overlap fully, the shorter of the two is 0.
struct Time {
  Seconds compute{}, memory{}, communication{}, latency{};
  constexpr Seconds total() const { return compute + memory + communication + latency; }
  constexpr Time& operator+=(const Time& o) {
    compute += o.compute;
    memory += o.memory;
    communication += o.communication;
    latency += o.latency;
    return *this;
  }
};
constexpr Time operator*(double n, const Time& t) {
  return {n * t.compute, n * t.memory, n * t.communication, n * t.latency};
}
/// The cause that takes most of the time.
Bound bound(const Time& t);

/// Whether the rows of a product's input, weight and output begin on 16 bytes, as tensor cores load them: an odd
/// vocabulary does not (NVIDIA, "Matrix Multiplication Background User's Guide", section 2.1).
constexpr bool aligned(const Linear& s, Count numbers_in_16_bytes) {
  return s.in % numbers_in_16_bytes == 0 && s.out % numbers_in_16_bytes == 0;
}

/// Kernels that one direction of an operator is.
double kernels(const Op& op, const Pricing& p, const Software& s);

/// The rates that one pass over an operator reaches: a product F / (F + half_matmul) of `compute`, and of that the
/// share `unaligned` where it is not aligned; attention's core its own. In inference, activations that fit into the
/// device's cache move at the cache's bandwidth, since their buffers are reused; training keeps them in memory.
/// Training and decoding may run from CUDA graphs; a prompt does not. An element-wise kernel is never faster than the
/// functions that it evaluates. A gradient's launch counts once, with the inputs' gradient if there is one. Software
/// takes its share of products of experts and of a naive core, whose kernels run one after another, so that nothing
/// overlaps; other kernels than products and flash attention move the bytes that it says.
OpRates reached(const Op& op, const Cost& c, const Pricing& p, Direction direction, const Rates& r);

/// Time of one pass over one operator: the longer of compute and memory, and the exposed share of the shorter.
constexpr Time op_time(double executed, double moved, const OpRates& r) {
  const Seconds compute(executed / r.compute.value), memory(moved / r.memory.value);
  if (compute >= memory) return {.compute = compute, .memory = r.exposed * memory, .latency = r.launch};
  return {.compute = r.exposed * compute, .memory = memory, .latency = r.launch};
}
constexpr Time op_time(const Cost& c, const OpRates& r) {
  return op_time(static_cast<double>(c.executed.value), c.moved.total(), r);
}

/// Seconds that the bytes of an operator which lie on the host take to the device: in inference the shares of its
/// weights and of the cached keys and values that it reads, over the link to the host. They are added: nothing hides
/// them.
Seconds host_seconds(const Op& op, const Cost& c, const Pricing& p, const Rates& r);

/// Time of one direction of one operator at these rates.
Time operator_time(const Op& op, const Pricing& p, Direction direction, const Rates& r);
Time backward_time(const Op& op, const Pricing& p, const Rates& r);

/// Time of a whole pass as one operator whose activations never leave the chip: the roofline of a step. `compute`:
/// seconds of all its FLOPs, each at the peak of its format.
Time step_time(Seconds compute, const Cost& whole, const Rates& r);

}  // namespace llmcalc
