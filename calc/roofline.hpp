#pragma once
/// Where formulas and hardware meet: cost + device -> seconds, and what bounds them. An operator takes
/// max(FLOPs / peak, bytes / bandwidth) (Williams et al. 2009); communication is added as far as it is exposed.

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
  FlopsPerSecond compute;
  BytesPerSecond memory;
  Seconds launch{};  ///< per operator
  Link link{};       ///< between the ranks of a tensor-parallel group
};
/// The link that joins the ranks: inside a node as far as it reaches, else the network between nodes.
Link group_link(const Device& device, Count ranks);

Rates bound_rates(const Device& device, const Plan& plan);
Rates estimated_rates(const Device& device, const Plan& plan);
/// Are there efficiencies, stated in the plan or measured on the device?
bool has_estimate(const Device& device, const Plan& plan);

/// Seconds by what they are spent on. Under the step roofline only the larger of compute and memory is not zero.
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

/// One pass over one operator: its executed FLOPs against its bytes.
Time op_time(const Cost& c, const Rates& r);

/// What a collective costs in forward or backward: ring algorithms, the part that compute does not hide.
Time exchange_time(const Collective& c, const Pricing& p, const Rates& r, double overlap, bool is_backward);

/// Adds up operators under either roofline.
class Clock {
 public:
  Clock(const Rates& rates, const Plan& plan, const Pricing& p) : rates_(rates), plan_(plan), pricing_(p) {}
  void run(const Op& op, Count repeats, bool is_backward);
  Time time() const;
  const Cost& cost() const { return cost_; }

 private:
  Rates rates_;
  const Plan& plan_;
  Pricing pricing_;
  Time time_;
  Cost cost_;
};

}  // namespace llmcalc
