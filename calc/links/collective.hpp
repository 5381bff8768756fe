#pragma once
/// Collective communication under the alpha-beta model: time and bytes of one operation.
///
///   time = rounds x latency + load x M / bandwidth
///
/// n ranks, lg = ceil(log2 n), one-way bandwidth per rank. A single rank does not communicate: 0 rounds, load 0.
///
/// M is
///   all-reduce, broadcast, reduce   the whole message, the same size on every rank
///   all-gather                      the gathered output      (a rank contributes M/n)
///   gather                          the gathered output      (a rank contributes M/n)
///   reduce-scatter                  the input of one rank    (a rank receives M/n)
///   all-to-all                      one rank's send buffer, including the part that it keeps
///   p2p                             the message
///
/// On a torus each operation has only its default algorithm, over the links counted in calc/links/torus.hpp.
///
/// Not modeled: the arithmetic of a reduction, copies into and out of buffers, contention.
/// Sources: Patarasuk & Yuan 2009 (ring); Thakur, Rabenseifner & Gropp 2005 (tree, recursive, Bruck, pairwise); Goon
/// App. B and its footnote 36 (the primitives; ring vs. reduction through a chief); Sanders, Speck & Traeff 2009
/// (double binary trees); SHARP, Graham et al. 2016, and NCCL's NVLink SHARP (reduction in switches).

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "calc/choice.hpp"
#include "calc/device.hpp"
#include "calc/units.hpp"

namespace llmcalc {

enum class CollectiveOp : std::uint8_t {
  broadcast,       ///< the root's data to all ranks
  gather,          ///< all ranks' data to the root
  reduce,          ///< the sum of all ranks' data to the root
  all_gather,      ///< all ranks' data to all ranks
  all_reduce,      ///< the sum of all ranks' data to all ranks
  reduce_scatter,  ///< the sum of all ranks' data, one slice to each rank
  all_to_all,      ///< a different slice from each rank to each rank
  p2p              ///< one rank to another
};
template <>
inline constexpr auto choices<CollectiveOp> =
    std::array{Choice{CollectiveOp::broadcast, "broadcast"},   Choice{CollectiveOp::gather, "gather"},
               Choice{CollectiveOp::reduce, "reduce"},         Choice{CollectiveOp::all_gather, "all-gather"},
               Choice{CollectiveOp::all_reduce, "all-reduce"}, Choice{CollectiveOp::reduce_scatter, "reduce-scatter"},
               Choice{CollectiveOp::all_to_all, "all-to-all"}, Choice{CollectiveOp::p2p, "p2p"}};

enum class CollectiveAlgorithm : std::uint8_t {
  ring,               ///< neighbor to neighbor, M/n per message
  recursive,          ///< recursive halving and doubling; n is rounded up to a power of two
  tree,               ///< binomial tree, whole messages, no pipelining
  tree_pipelined,     ///< double binary tree, in the limit of large M
  pairwise,           ///< n - 1 pairwise messages
  bruck,              ///< lg messages of M/2
  scatter_allgather,  ///< binomial scatter, then ring all-gather
  pipelined,          ///< a chain of ranks that forward small pieces, in the limit of large M
  naive,              ///< all data over the root's link, rank by rank
  direct,             ///< one message
  in_network          ///< switches sum data from all ranks, or replicate one rank's data to all
};
template <>
inline constexpr auto choices<CollectiveAlgorithm> =
    std::array{Choice{CollectiveAlgorithm::ring, "ring"},
               Choice{CollectiveAlgorithm::recursive, "recursive"},
               Choice{CollectiveAlgorithm::tree, "tree"},
               Choice{CollectiveAlgorithm::tree_pipelined, "tree-pipelined"},
               Choice{CollectiveAlgorithm::pairwise, "pairwise"},
               Choice{CollectiveAlgorithm::bruck, "bruck"},
               Choice{CollectiveAlgorithm::scatter_allgather, "scatter-allgather"},
               Choice{CollectiveAlgorithm::pipelined, "pipelined"},
               Choice{CollectiveAlgorithm::naive, "naive"},
               Choice{CollectiveAlgorithm::direct, "direct"},
               Choice{CollectiveAlgorithm::in_network, "in-network"}};

/// The algorithms of an operation, including those that need Link::reduces. The first is the default: it moves the
/// fewest bytes, like NCCL's rings.
std::span<const CollectiveAlgorithm> algorithms(CollectiveOp op) noexcept;
CollectiveAlgorithm default_algorithm(CollectiveOp op) noexcept;

struct CollectiveSchedule {
  Count rounds = 0;  ///< number of sequentially dependent messages
  Ratio load;        ///< bytes over the link of the busiest rank, in units of M
};

/// Upper bound on the number of ranks, larger than any real machine. Up to this bound, the number of rounds does not
/// overflow.
inline constexpr Count max_ranks = Count{1} << 40;

/// Reason a collective is impossible.
enum class CollectiveFlaw : std::uint8_t {
  none,
  no_such_algorithm,  ///< the operation does not support this algorithm
  no_ranks,           ///< fewer than one rank
  too_many_ranks,     ///< more than max_ranks
  negative_message,
  no_link,        ///< no such link (bandwidth not positive)
  no_reduction,   ///< the link's switches do not reduce
  no_switch,      ///< the algorithm needs switches, but the link is a torus
  link_too_small  ///< more ranks than the link connects
};
std::string_view reason(CollectiveFlaw flaw) noexcept;
CollectiveFlaw collective_flaw(CollectiveOp op, CollectiveAlgorithm algorithm, Bytes m, Count ranks,
                               const Link& link) noexcept;

/// Rounds and load, if the operation supports the algorithm. ranks >= 1. `torus`: the torus formed by these ranks.
std::optional<CollectiveSchedule> collective_schedule(CollectiveOp op, CollectiveAlgorithm algorithm, Count ranks,
                                                      const Torus& torus = {}) noexcept;

/// Time of a collective. Precondition: collective_flaw() is `none` or `link_too_small`; a torus connects exactly these
/// ranks (joining_ranks() in calc/cluster.hpp). An unknown latency counts as 0.
Seconds collective_time(CollectiveOp op, CollectiveAlgorithm algorithm, Bytes m, Count ranks,
                        const Link& link) noexcept;

/// A byte count that need not be an integer, such as M (n-1)/n.
struct ByteFraction {
  Bytes numerator;
  Count denominator = 1;
  constexpr double value() const { return static_cast<double>(numerator.value) / static_cast<double>(denominator); }
  constexpr bool operator==(const ByteFraction&) const = default;
};

/// load x M in bytes, with the load in lowest terms: for symmetric algorithms, the bytes that each rank sends; for all
/// others, the bytes over the root's link in both directions. On a torus, forwarded data is included. Throws Overflow
/// past 2^63. Precondition: the operation supports the algorithm.
ByteFraction collective_volume(CollectiveOp op, CollectiveAlgorithm algorithm, Bytes m, Count ranks,
                               const Torus& torus = {});

/// Bus bandwidth divided by algorithm bandwidth (M / time). The bus bandwidth of a measurement is comparable with the
/// bandwidth of the link. Values: all-reduce 2(n-1)/n; all-gather, reduce-scatter, all-to-all and gather (n-1)/n; the
/// others 1; 0 for one rank. Source: NVIDIA nccl-tests, doc/PERFORMANCE.md.
Ratio bus_factor(CollectiveOp op, Count ranks) noexcept;
BytesPerSecond bus_bandwidth(CollectiveOp op, Bytes m, Count ranks, Seconds measured) noexcept;

/// Time of an all-reduce over `nodes` nodes of `per_node` ranks: ring reduce-scatter of M inside the node, ring
/// all-reduce of M/per_node between nodes (each rank over its own share of the network), ring all-gather inside.
Seconds hierarchical_all_reduce_time(Bytes m, Count per_node, Count nodes, const Link& link,
                                     const Link& network) noexcept;

}  // namespace llmcalc
