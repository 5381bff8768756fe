#pragma once
/// The roofline model: converts a cost to seconds on a device, by limiting resource. An operator takes max(FLOPs /
/// peak, bytes / bandwidth) (Williams et al. 2009), plus the part of the shorter term that the machine does not
/// overlap (as in the ECM model, Treibig & Hager 2009). Exposed communication is added.

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

/// Rates of a device: the datasheet's (a bound), or measured or stated fractions of these (an estimate).
struct Rates {
  FlopsPerSecond compute;  ///< rate of the blocks' matmuls
  BytesPerSecond memory;
  BytesPerSecond bandwidth{};        ///< the datasheet's memory bandwidth, an upper limit for every kernel; 0: unknown
  FlopsPerSecond working{};          ///< rate of all other operators if they use another format; 0: same as compute
  FlopsPerSecond orthogonalizing{};  ///< rate of Muon's matmuls: in bf16, or in the working format if there is no bf16
                                     ///< peak
  Seconds launch{};                  ///< launch overhead per operator
  Seconds launch_backward{};         ///< launch overhead per operator's gradient; 0: same as launch
  Seconds recorded{}, recorded_backward{};  ///< launch overhead in a captured graph; 0: no graphs
  LinkRates links{};
  double exposed = 0;  ///< exposed share of the shorter of compute and memory time
  CoreRates attention{};
  double half_matmul = 0, functions = 0;
  double unaligned = 1;           ///< fraction of the rate that an unaligned matmul reaches
  Count numbers_in_16_bytes = 1;  ///< number of elements in 16 bytes, in the format of the blocks' matmuls
  BytesPerSecond cache_bandwidth{};
  Bytes cache{};
  HostSide host{};  ///< the host's datasheet rates
  Software software{};
  double hidden_inside = 0, hidden_overlapped = 1;  ///< overlapped fractions of communication, from the plan or
                                                    ///< software
  /// Fractions of tensor-parallel communication that overlap with the matmul whose input or result it transfers, and
  /// with weight gradients.
  double hidden_tensor = 0, hidden_by_weights = 0;
  double hidden_experts = 0;  ///< overlapped fraction of expert-parallel communication
  /// Overlapped fraction of communication inside a layer.
  constexpr double hidden(Group g) const {
    return g == Group::tensor ? hidden_tensor : g == Group::expert ? hidden_experts : hidden_inside;
  }
  /// Whether the blocks' matmuls use a different format from all other operators.
  constexpr bool mixed() const { return working.value > 0; }
  /// Whether all operators have the same rates and no launch overhead.
  constexpr bool uniform() const {
    return !mixed() && launch.value == 0 && launch_backward.value == 0 && recorded.value == 0 && exposed == 0 &&
           attention.forward.value == 0 && half_matmul == 0 && unaligned == 1 && functions == 0 &&
           cache_bandwidth.value == 0 && software == Software();
  }
};

Rates bound_rates(const Device& device, const Plan& plan);
Rates estimated_rates(const Device& device, const Plan& plan);
/// The estimated rates of a phase, slowed or sped up by the device's pace (Achieved::pace) in inference. Every time at
/// these rates is multiplied by the pace, but no rate exceeds the datasheet's.
Rates paced_rates(const Device& device, const Plan& plan, Phase phase);
/// Whether the plan states efficiencies or the device has measured efficiencies.
bool has_estimate(const Device& device, const Plan& plan);

/// The rates of one pass over one operator.
struct OpRates {
  FlopsPerSecond compute;
  BytesPerSecond memory;
  Seconds launch{};
  double exposed = 0;
};
/// Rate of the format in which an operator multiplies.
constexpr FlopsPerSecond format_rate(const Op& op, const Rates& r) {
  return r.mixed() && !op.narrow ? r.working : r.compute;
}
/// Nominal rates of an operator, without the adjustments of reached().
constexpr OpRates op_rates(const Rates& r) { return {r.compute, r.memory, r.launch, r.exposed}; }
constexpr OpRates op_rates(const Op& op, const Rates& r) { return {format_rate(op, r), r.memory, r.launch, r.exposed}; }

/// Seconds by limiting resource. If compute and memory time overlap fully, the shorter of the two is 0.
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
/// The resource that accounts for the largest part of the time.
Bound bound(const Time& t);

/// Whether the rows of a matmul's input, weight and output start at multiples of 16 bytes, the unit in which tensor
/// cores load them. An odd vocabulary size breaks the alignment (NVIDIA, "Matrix Multiplication Background User's
/// Guide", section 2.1).
constexpr bool aligned(const Linear& s, Count numbers_in_16_bytes) {
  return s.in % numbers_in_16_bytes == 0 && s.out % numbers_in_16_bytes == 0;
}

/// Number of kernels in one direction of an operator.
double kernels(const Op& op, const Pricing& p, const Software& s);

/// Rates achieved by one pass over one operator. A matmul of F FLOPs reaches F / (F + half_matmul) of `compute`, times
/// `unaligned` if it is not aligned; an attention core has its own rate. In inference, activations that fit into the
/// device's cache move at the cache's bandwidth, since their buffers are reused; in training they stay in memory.
/// Training and decoding may use CUDA graphs; prefill does not. An element-wise kernel takes at least the time of its
/// special functions. The launch overhead of an operator's gradient counts once, with the input gradient if there is
/// one. Software factors reduce the rates of expert matmuls and of a naive attention core, whose kernels run one
/// after another without overlap, and increase the bytes moved by all kernels except matmuls and flash attention.
OpRates reached(const Op& op, const Cost& c, const Pricing& p, Direction direction, const Rates& r);

/// Time of one pass over one operator: the longer of compute and memory time, plus the exposed share of the shorter.
constexpr Time op_time(double executed, double moved, const OpRates& r) {
  const Seconds compute(executed / r.compute.value), memory(moved / r.memory.value);
  if (compute >= memory) return {.compute = compute, .memory = r.exposed * memory, .latency = r.launch};
  return {.compute = r.exposed * compute, .memory = memory, .latency = r.launch};
}
constexpr Time op_time(const Cost& c, const OpRates& r) {
  return op_time(static_cast<double>(c.executed.value), c.moved.total(), r);
}

/// Seconds to transfer an operator's offloaded bytes from the host: in inference, the offloaded fractions of its
/// weights (once per pass of a prompt) and of the cached keys and values that it reads. Transfers do not overlap with
/// the operator. In a decode step with HostSide::computes, the host runs the offloaded share instead, limited by its
/// memory or matmul rate.
Seconds host_seconds(const Op& op, const Cost& c, const Pricing& p, const Rates& r);

/// Time of one direction of one operator at these rates.
Time operator_time(const Op& op, const Pricing& p, Direction direction, const Rates& r);
Time backward_time(const Op& op, const Pricing& p, const Rates& r);

/// Time of a whole pass under Roofline::step, which treats the pass as one operator whose activations never leave the
/// chip. `compute`: seconds of all FLOPs, each at the peak of its format.
Time step_time(Seconds compute, const Cost& whole, const Rates& r);

}  // namespace llmcalc
