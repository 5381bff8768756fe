#pragma once
/// The layout of a model over the devices of a cluster: the ranks of every kind of parallelism, and their order.
///
/// devices = tp x cp x pp x dp. Expert parallelism takes its ranks from those of data and context parallelism: ep x etp
/// divides tp x cp x dp (Megatron-Core's parallel folding, arXiv:2504.14960). Neighbouring ranks lie on neighbouring
/// devices in the order tensor, context, data, pipeline, as in Megatron-Core.

#include <array>
#include <cstdint>
#include <string_view>

#include "calc/arch.hpp"
#include "calc/units.hpp"

namespace llmcalc {

/// The ranks that take part in an exchange.
enum class Group : std::uint8_t { tensor, context, expert, expert_tensor, pipeline, data, expert_data };
inline constexpr std::size_t group_count = 7;
inline constexpr std::array<std::string_view, group_count> group_names{
    "tensor", "context", "expert", "expert-tensor", "pipeline", "data", "expert-data"};

/// The tensors that data-parallel ranks shard among themselves (ZeRO, arXiv:1910.02054).
enum class Zero : std::uint8_t {
  none,       ///< every rank holds everything
  optimizer,  ///< stage 1: optimizer states
  gradients,  ///< stage 2: gradients too
  weights     ///< stage 3, FSDP: weights too
};

/// The order in which a pipeline runs its micro-batches.
enum class Schedule : std::uint8_t {
  gpipe,        ///< all forward passes, then all backward passes (arXiv:1811.06965)
  one_f_one_b,  ///< one forward, one backward in the steady state (arXiv:2006.09503)
  interleaved   ///< the same with several chunks of layers per rank (arXiv:2104.04473)
};

struct Layout {
  Count tp = 1;     ///< tensor-parallel ranks
  bool sp = false;  ///< sequence parallelism over the tensor-parallel ranks
  Count cp = 1, ep = 1, etp = 1, pp = 1;
  Count chunks = 1;  ///< chunks of layers per pipeline rank
  Count dp = 1;      ///< data-parallel replicas
  Zero zero = Zero::none;
  Schedule schedule = Schedule::one_f_one_b;
  constexpr bool operator==(const Layout&) const = default;
};

/// Devices that hold one replica of the model, and all devices of the run.
constexpr Count replica_devices(const Layout& l) { return mul(l.tp, l.cp, l.pp); }
constexpr Count devices(const Layout& l) { return mul(replica_devices(l), l.dp); }
/// Replicas of the model that train side by side on micro-batches of their own.
constexpr Count replicas(const Layout& l) { return l.dp; }

/// Whether the residual stream is cut over the tensor-parallel ranks.
constexpr bool sequence_parallel(const Layout& l) { return l.sp && l.tp > 1; }

/// Ranks of a group, and the distance on the line of devices between its neighbours.
Count ranks(const Layout& l, Group g);
Count stride(const Layout& l, Group g);

/// The layout without data-parallel replicas.
constexpr Layout one_replica(Layout l) {
  l.dp = 1;
  return l;
}

/// The reason why a layout is impossible for a model: a value, not an exception.
enum class LayoutFlaw : std::uint8_t {
  none,
  heads,            ///< the tensor-parallel ranks do not divide the attention heads
  sequence_of_one,  ///< sequence parallelism without tensor-parallel ranks
};
LayoutFlaw flaw(const Arch& arch, const Layout& l);

}  // namespace llmcalc
