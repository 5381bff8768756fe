#include "calc/links/collective.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

namespace llmcalc {
namespace {

using Algorithm = CollectiveAlgorithm;

constexpr std::array broadcast_algorithms{Algorithm::pipelined, Algorithm::tree, Algorithm::scatter_allgather,
                                          Algorithm::naive};
constexpr std::array gather_algorithms{Algorithm::tree, Algorithm::naive};
constexpr std::array reduce_algorithms{Algorithm::pipelined, Algorithm::tree, Algorithm::naive};
constexpr std::array ring_algorithms{Algorithm::ring, Algorithm::recursive, Algorithm::in_network};
constexpr std::array all_reduce_algorithms{Algorithm::ring,           Algorithm::recursive, Algorithm::tree,
                                           Algorithm::tree_pipelined, Algorithm::naive,     Algorithm::in_network};
constexpr std::array all_to_all_algorithms{Algorithm::pairwise, Algorithm::bruck};
constexpr std::array p2p_algorithms{Algorithm::direct};

/// ceil(log2 n)
Count levels(Count n) { return static_cast<Count>(std::bit_width(static_cast<std::uint64_t>(n - 1))); }

Ratio lowest(Count numerator, Count denominator) {
  const Count g = std::gcd(numerator, denominator);
  return {numerator / g, denominator / g};
}

/// Broadcast; reduce sends the same messages in reverse.
CollectiveSchedule rooted(Algorithm algorithm, Count n) {
  switch (algorithm) {
    case Algorithm::tree:
      return {levels(n), {levels(n), 1}};
    case Algorithm::scatter_allgather:
      return {levels(n) + n - 1, lowest(2 * (n - 1), n)};
    case Algorithm::pipelined:
      return {n - 1, {1, 1}};
    default:  // naive
      return {n - 1, {n - 1, 1}};
  }
}

/// All-reduce: twice the cost of a reduce-scatter (ring, recursive), or a reduce and a broadcast (tree, naive). A
/// switch receives M from each rank while it sends M to each rank, so both directions of a link are used: one message
/// up and one down. (Excludes the extra M/n of NVLink SHARP, which requests its sums slice by slice and sends each
/// slice a second time.)
CollectiveSchedule all_reduce(Algorithm algorithm, Count n) {
  switch (algorithm) {
    case Algorithm::ring:
      return {2 * (n - 1), lowest(2 * (n - 1), n)};
    case Algorithm::recursive:
      return {2 * levels(n), lowest(2 * (n - 1), n)};
    case Algorithm::tree:
      return {2 * levels(n), {2 * levels(n), 1}};
    case Algorithm::tree_pipelined:
      return {2 * levels(n), {2, 1}};
    case Algorithm::in_network:
      return {2, {1, 1}};
    default:  // naive
      return {2 * (n - 1), {2 * (n - 1), 1}};
  }
}

CollectiveSchedule valid_schedule(CollectiveOp op, Algorithm algorithm, Count n) {
  const Ratio share = lowest(n - 1, n);  // fraction of M held by the other ranks
  const bool logarithmic = algorithm == Algorithm::recursive || algorithm == Algorithm::tree;
  switch (op) {
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
      return rooted(algorithm, n);
    case CollectiveOp::all_reduce:
      return all_reduce(algorithm, n);
    case CollectiveOp::gather:
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      if (algorithm == Algorithm::in_network) return {1, share};  // the other ranks' parts in a single message
      return {logarithmic ? levels(n) : n - 1, share};
    case CollectiveOp::all_to_all:
      if (algorithm == Algorithm::bruck) return {levels(n), lowest(levels(n), 2)};
      return {n - 1, share};
    case CollectiveOp::p2p:
      break;
  }
  return {1, {1, 1}};
}

/// Schedule on a torus, which uses the links of all axes in both directions concurrently.
CollectiveSchedule on_torus(CollectiveOp op, Count n, const Torus& torus) {
  const Count steps = farthest(torus);
  switch (op) {
    case CollectiveOp::all_reduce:
      return {2 * steps, lowest(2 * (n - 1), n)};
    case CollectiveOp::all_to_all:
      return {steps, all_to_all_load(torus)};
    case CollectiveOp::p2p:
      return {1, rank_links(torus)};
    case CollectiveOp::gather:
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      return {steps, lowest(n - 1, n)};
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
      break;
  }
  return {steps, {1, 1}};
}

}  // namespace

std::span<const CollectiveAlgorithm> algorithms(CollectiveOp op) noexcept {
  switch (op) {
    case CollectiveOp::broadcast:
      return broadcast_algorithms;
    case CollectiveOp::gather:
      return gather_algorithms;
    case CollectiveOp::reduce:
      return reduce_algorithms;
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      return ring_algorithms;
    case CollectiveOp::all_reduce:
      return all_reduce_algorithms;
    case CollectiveOp::all_to_all:
      return all_to_all_algorithms;
    case CollectiveOp::p2p:
      break;
  }
  return p2p_algorithms;
}

CollectiveAlgorithm default_algorithm(CollectiveOp op) noexcept { return algorithms(op).front(); }

std::string_view reason(CollectiveFlaw flaw) noexcept {
  switch (flaw) {
    case CollectiveFlaw::none:
      return "";
    case CollectiveFlaw::no_such_algorithm:
      return "the algorithm does not support this operation";
    case CollectiveFlaw::no_ranks:
      return "at least one rank is required";
    case CollectiveFlaw::too_many_ranks:
      return "the rank count exceeds 2^40";
    case CollectiveFlaw::negative_message:
      return "the message size cannot be negative";
    case CollectiveFlaw::no_link:
      return "the hardware has no such link, or its bandwidth is unknown";
    case CollectiveFlaw::no_reduction:
      return "the link's switches do not support in-network reduction";
    case CollectiveFlaw::no_switch:
      return "the algorithm requires switches, but the link is a torus";
    case CollectiveFlaw::link_too_small:
      break;
  }
  return "there are more ranks than the link connects";
}

CollectiveFlaw collective_flaw(CollectiveOp op, CollectiveAlgorithm algorithm, Bytes m, Count ranks,
                               const Link& link) noexcept {
  const auto possible = algorithms(op);
  if (std::find(possible.begin(), possible.end(), algorithm) == possible.end())
    return CollectiveFlaw::no_such_algorithm;
  if (ranks < 1) return CollectiveFlaw::no_ranks;
  if (ranks > max_ranks) return CollectiveFlaw::too_many_ranks;
  if (m.value < 0) return CollectiveFlaw::negative_message;
  if (ranks == 1) return CollectiveFlaw::none;
  if (!(link.bandwidth.value > 0)) return CollectiveFlaw::no_link;
  if (algorithm == Algorithm::in_network && !link.reduces) return CollectiveFlaw::no_reduction;
  if (!link.torus.empty() && algorithm != default_algorithm(op)) return CollectiveFlaw::no_switch;
  return ranks > link.ranks ? CollectiveFlaw::link_too_small : CollectiveFlaw::none;
}

std::optional<CollectiveSchedule> collective_schedule(CollectiveOp op, CollectiveAlgorithm algorithm, Count ranks,
                                                      const Torus& torus) noexcept {
  const auto possible = algorithms(op);
  if (std::find(possible.begin(), possible.end(), algorithm) == possible.end()) return std::nullopt;
  if (!torus.empty() && algorithm != default_algorithm(op)) return std::nullopt;
  if (ranks <= 1) return CollectiveSchedule{};
  return torus.empty() ? valid_schedule(op, algorithm, ranks) : on_torus(op, ranks, torus);
}

Seconds collective_time(CollectiveOp op, CollectiveAlgorithm algorithm, Bytes m, Count ranks,
                        const Link& link) noexcept {
  if (ranks <= 1) return {};
  const auto schedule = collective_schedule(op, algorithm, ranks, link.torus);
  assert(schedule && link.bandwidth.value > 0);
  return static_cast<double>(schedule->rounds) * link.latency + schedule->load.value() * (m / link.bandwidth);
}

ByteFraction collective_volume(CollectiveOp op, CollectiveAlgorithm algorithm, Bytes m, Count ranks,
                               const Torus& torus) {
  const auto schedule = collective_schedule(op, algorithm, ranks, torus);
  assert(schedule);
  return {schedule->load.numerator * m, schedule->load.denominator};
}

Ratio bus_factor(CollectiveOp op, Count ranks) noexcept {
  if (ranks <= 1) return {};
  switch (op) {
    case CollectiveOp::all_reduce:
      return lowest(2 * (ranks - 1), ranks);
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_to_all:
    case CollectiveOp::gather:
      return lowest(ranks - 1, ranks);
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
    case CollectiveOp::p2p:
      break;
  }
  return {1, 1};
}

BytesPerSecond bus_bandwidth(CollectiveOp op, Bytes m, Count ranks, Seconds measured) noexcept {
  return bus_factor(op, ranks).value() * BytesPerSecond(static_cast<double>(m.value) / measured.value);
}

Seconds hierarchical_all_reduce_time(Bytes m, Count per_node, Count nodes, const Link& link,
                                     const Link& network) noexcept {
  const Seconds inside = collective_time(CollectiveOp::reduce_scatter, Algorithm::ring, m, per_node, link) +
                         collective_time(CollectiveOp::all_gather, Algorithm::ring, m, per_node, link);
  if (nodes <= 1) return inside;
  const CollectiveSchedule between = all_reduce(Algorithm::ring, nodes);
  const double share = between.load.value() / static_cast<double>(per_node);
  return inside + static_cast<double>(between.rounds) * network.latency + share * (m / network.bandwidth);
}

}  // namespace llmcalc
