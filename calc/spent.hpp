#pragma once
/// Breakdown of the seconds of a training step by kind of work and, for communication, by kind of parallelism.

#include <array>
#include <cstdint>
#include <string_view>

#include "calc/layout.hpp"
#include "calc/roofline.hpp"

namespace llmcalc {

enum class Part : std::uint8_t {
  matmul,
  attention,    ///< attention cores
  elementwise,  ///< all other operators
  host,         ///< kernel launches
  tp,           ///< communication between tensor-parallel ranks; cp, ep, dp and pp are analogous
  cp,
  ep,
  dp,
  pp,
  imbalance,  ///< stalls waiting for the slowest pipeline stage
  bubble,     ///< stalls while a pipeline fills and drains
  optimizer,
  offload  ///< stalls for host transfers and for updates on the host
};
inline constexpr std::size_t part_count = 13;  // Spent::total() adds 4 x 3 parts and one more
inline constexpr std::array<std::string_view, part_count> part_names{
    "matmul", "attention", "elementwise", "host",   "tp",        "cp",     "ep",
    "dp",     "pp",        "imbalance",   "bubble", "optimizer", "offload"};

/// The part that includes a group's communication.
constexpr Part part_of(Group g) {
  switch (g) {
    case Group::tensor:
    case Group::expert_tensor:
    case Group::cached:
      return Part::tp;
    case Group::context:
      return Part::cp;
    case Group::expert:
      return Part::ep;
    case Group::pipeline:
      return Part::pp;
    case Group::data:
    case Group::expert_data:
    case Group::shard:
    case Group::replica:
    case Group::expert_shard:
    case Group::expert_replica:
      return Part::dp;
  }
  return Part::dp;
}

/// Total seconds of a and b if they run concurrently: the longer time, plus the exposed part of the shorter.
constexpr Seconds beside(Seconds a, Seconds b, double hidden) {
  return a < b ? b + (1 - hidden) * a : a + (1 - hidden) * b;
}

/// Seconds by part. Operators that compute are also split by limiting resource.
struct Spent {
  std::array<Seconds, part_count> parts{};
  Seconds compute{}, memory{};  ///< compute and memory time of the parts matmul, attention, elementwise and optimizer
  constexpr Seconds& operator[](Part p) { return parts[static_cast<std::size_t>(p)]; }
  constexpr Seconds operator[](Part p) const { return parts[static_cast<std::size_t>(p)]; }
  constexpr Seconds total() const {
    Seconds by_threes[4];  // four independent sums
    for (std::size_t i = 0; i < 4; ++i) by_threes[i] = parts[i] + parts[4 + i] + parts[8 + i];
    return by_threes[0] + by_threes[1] + (by_threes[2] + by_threes[3]) + parts[12];
  }
  constexpr Spent& operator+=(const Spent& o) {
    for (std::size_t i = 0; i < part_count; ++i) parts[i] += o.parts[i];
    compute += o.compute;
    memory += o.memory;
    return *this;
  }
};
constexpr Spent operator*(double n, Spent s) {
  for (Seconds& x : s.parts) x = n * x;
  s.compute = n * s.compute;
  s.memory = n * s.memory;
  return s;
}

}  // namespace llmcalc
