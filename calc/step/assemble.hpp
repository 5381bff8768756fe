#pragma once
/// Sums over rows: FLOPs, bytes, collectives and time of all layers of a stage, under either roofline.

#include "calc/price.hpp"

namespace llmcalc {

/// The sum over layers, for one or more directions (forward, backward).
struct PassSum {
  Cost cost;
  Time bound, estimate;
  CollectiveCalls collectives;
  /// Adds `layers` times `pass`. `costs`: whether to also add FLOPs and bytes, for the roofline of a step or the work
  /// of a rank.
  void add(const PassPrice& pass, Count layers, bool costs);
};

/// Time of a pass: at the datasheet's rates, and at measured or stated efficiencies (equal if there are none).
struct PassTime {
  Time bound, estimate;
};

/// Time of a pass: compute, memory and latency under the plan's roofline, and exposed collectives.
PassTime pass_time(const PassSum& sum, const Prices& prices, const Plan& plan, const Layout& layout,
                   const Cluster& cluster);

/// Time of a collective over the levels that connect its group. The innermost level connects g ranks, the next level n
/// sets of g ranks: a ring of g ranks, then a ring of n ranks for each of the g shares, on separate links.
///   reduce-scatter, all-gather: (g-1)/g M / B_0 + (n-1)/n (M/g) / B_1 + ...; an all-reduce consists of both
/// If nodes hold unequal parts of a group of N ranks (calc/links/route.hpp), with f ranks in the smallest part, the
/// links of these f ranks finish last:
///   reduce-scatter, all-gather   (N-f)/N (M/f) / B_1: each rank's result is M/N, so the f links of the smallest part
///                                send all but f/N of its sums to the others, or receive all but f/N of the whole
///   all-reduce                   2 (n-1)/n (M/f) / B_1: between nodes, a ring of n may divide M freely, and all nodes
///                                send the same number of bytes
///   all-to-all                   (N-f)/N M / B_1: a rank of the smallest part sends M/N to each of the N - f others
/// With N = f n these are the formulas above. The first and the last are also lower bounds for any algorithm; an
/// all-reduce must move at least M/f, as two nodes do, because no sum outside the smallest part is complete without
/// that part's contribution. Layout::collectives replaces a level's ring of n by other algorithms of an all-reduce, for
/// its share M' of M:
///   tree         2 M' / B and 2 ceil(log2 n) latencies, outside the innermost level: double binary trees, each of
///                which carries half of the message up and down, in the limit of long messages
///   in network   M' / B and 2 latencies, on levels whose switches reduce; there reduce-scatter and all-gather take the
///                time of a ring, with 1 latency
///   fastest      on each level, the fastest of these and the ring, at the rates that links reach
/// In an all-to-all each rank sends M/N to every other rank; the levels work concurrently, so the slowest determines
/// the time. Tokens sent to experts on a limited number of nodes follow calc/parallel/expert.hpp, where a node is the
/// set of ranks that the innermost level connects. A message between neighbors crosses the outermost level of the
/// group. If the links of a level form a torus, the bandwidth covers the links that a rank of the group has there, and
/// an all-to-all waits for the busiest axis (calc/links/torus.hpp).
///
/// Sources: Megatron-LM (arXiv:2104.04473) section 4 for shares of the network per rank; Thakur et al. 2005; NCCL 2.4
/// (double binary trees between nodes, src/graph/tuning.cc) and 2.17 (NVLink SHARP). Not modeled: NCCL's protocols,
/// whose thresholds and bandwidths are fitted to each generation of GPUs. No protocol is faster than this model, which
/// combines the latency of the short-message protocol with the bandwidth of the long-message protocol.
CommunicationTime communication_time(const CollectiveCall& e, const Layout& layout, const Cluster& cluster,
                                     const LinkRates& reached = {});
/// Whether an operation's time is linear in messages and bytes, i.e. the algorithm does not depend on the size.
constexpr bool is_linear(CollectiveOp op, Collectives c) {
  return c != Collectives::fastest || op == CollectiveOp::p2p || op == CollectiveOp::all_to_all;
}
/// Time of several collectives in sequence.
CommunicationTime communication_time(const CollectiveCalls& all, const Layout& layout, const Cluster& cluster,
                                     const LinkRates& reached = {});

}  // namespace llmcalc
