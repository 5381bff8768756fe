#pragma once
/// Sums of rows: FLOPs, bytes, exchanges and time of all layers of a stage, under either roofline.

#include "calc/price.hpp"

namespace llmcalc {

/// The sum over layers of one or more directions.
struct PassSum {
  Cost cost;
  Time bound, estimate;
  Exchanges exchanges;
  /// Adds `layers` times `pass`. `costs`: FLOPs and bytes too, for the roofline of a step or a rank's own work.
  void add(const PassPrice& pass, Count layers, bool costs);
};

/// Time of a pass: seconds at the datasheet's rates, and at measured or stated efficiencies (equal where there are
/// none).
struct PassTime {
  Time bound, estimate;
};

/// Time of a pass: compute, memory and latency under the plan's roofline, and the exchanges that nothing overlaps.
PassTime pass_time(const PassSum& sum, const Prices& prices, const Plan& plan, const Layout& layout,
                   const Cluster& cluster);

/// Time of the messages of one exchange over the levels that join its group, g of its ranks on the innermost level and
/// n of such groups on the next: a ring of g ranks, then a ring of n for each of the g shares, whose links they have to
/// themselves.
///   reduce-scatter, all-gather: (g-1)/g M / B_0 + (n-1)/n (M/g) / B_1 + ...; an all-reduce is both
/// Where nodes hold unequal parts of a group of N ranks (calc/links/route.hpp), f ranks in the part with the fewest,
/// the links of these f are the last to be done:
///   reduce-scatter, all-gather: (N-f)/N (M/f) / B_1: each rank's result is M/N, so that the smallest part gives all
///                but f/N of its sums to the others (gets all but f/N of the whole from them), over f links
///   all-reduce: 2 (n-1)/n (M/f) / B_1: between nodes a ring of n may cut M as it likes, and each node sends as much
///   all-to-all: (N-f)/N M / B_1: a rank of the smallest part sends M/N to each of the N - f others
/// With N = f n these are the formulas above. The first and the last are also what no algorithm can undercut; an
/// all-reduce must move M/f at least, as two nodes do, since no sum is known outside without the part's own.
/// Layout::collectives puts other algorithms of an all-reduce in place of a level's ring of n, for its share M' of M:
///   tree         2 M' / B and 2 ceil(log2 n) latencies, outside the innermost level: double binary trees, each half of
///                the message up one and down again, in the limit of long messages
///   in network   M' / B and 2 latencies, on levels whose switches reduce; there reduce-scatter and all-gather take as
///                long as a ring's, with 1 latency
///   fastest      on each level the least of these and the ring, at the rates that links reach
///   all-to-all: each rank sends M/N to every other; the levels work side by side, so the slowest counts; tokens on
///   their way to experts of a limited number of nodes as calc/parallel/expert.hpp has it, a node being what the
///   innermost level joins
///   a message from neighbour to neighbour: over the outermost level of the group
/// On a level whose links are a torus the bandwidth is that of the links that a rank of the group has there, and an
/// all-to-all waits for the busiest of its axes (calc/links/torus.hpp).
/// Sources: Megatron-LM (arXiv:2104.04473) section 4 for shares of the network per rank; Thakur et al. 2005; NCCL 2.4
/// (double binary trees between nodes, src/graph/tuning.cc) and 2.17 (NVLink SHARP). Left out: NCCL's protocols, whose
/// thresholds and bandwidths are fitted to each generation of GPUs, and none of which is faster than what is here: the
/// latency of the one for short messages, the bandwidth of the one for long ones.
ExchangeTime exchange_time(const Exchange& e, const Layout& layout, const Cluster& cluster,
                           const LinkRates& reached = {});
/// Whether the time of an operation is linear in its messages and bytes: the algorithm does not depend on the size.
constexpr bool is_linear(CollectiveOp op, Collectives c) {
  return c != Collectives::fastest || op == CollectiveOp::p2p || op == CollectiveOp::all_to_all;
}
/// Time of the exchanges of several groups, one after another.
ExchangeTime exchange_time(const Exchanges& all, const Layout& layout, const Cluster& cluster,
                           const LinkRates& reached = {});

}  // namespace llmcalc
