#include "calc/step/assemble.hpp"

#include <algorithm>

#include "calc/links/route.hpp"

namespace llmcalc {

void PassSum::add(const PassPrice& pass, Count layers, bool costs) {
  const double n = static_cast<double>(layers);
  if (costs) cost += layers * pass.cost;
  bound += n * pass.bound;
  estimate += n * pass.estimate;
  for (CollectiveCall e : pass.collectives) {
    e.messages = mul(layers, e.messages);
    e.bytes = layers * e.bytes;
    collectives.add(e);
  }
}

namespace {

using Algorithm = CollectiveAlgorithm;
using Ways = InplaceVector<Algorithm, 3>;

/// Algorithms that a collective can use on a level. `outer`: whether the level is not the innermost.
Ways ways(CollectiveOp op, Collectives chosen, bool outer, const Link& link) {
  const bool tree = op == CollectiveOp::all_reduce && outer;
  const bool network = link.reduces && collective_schedule(op, Algorithm::in_network, 1);
  Ways all;
  if (tree && (chosen == Collectives::tree || chosen == Collectives::fastest)) all.push(Algorithm::tree_pipelined);
  if (network && (chosen == Collectives::in_network || chosen == Collectives::fastest)) all.push(Algorithm::in_network);
  if (all.empty() || chosen == Collectives::fastest) all.push(default_algorithm(op));
  return all;
}

/// Ratio of the bytes that a gather or a scatter moves on a level to the bytes with the same number of equal parts.
/// The smallest part sends to all others, or receives from them, (most - fewest)/most of the message; one of n equal
/// parts would send or receive (n-1)/n.
double unevenness(CollectiveOp op, const Meeting& m) {
  if (op == CollectiveOp::all_reduce || m.parts == 1) return 1;
  return static_cast<double>(mul(m.most - m.fewest, m.parts)) / static_cast<double>(mul(m.most, m.parts - 1));
}

/// Runs a collective level by level. After the inner levels, each level carries only a rank's share of the message.
class Levels {
 public:
  Levels(const CollectiveCall& e, const Route& route, const Cluster& cluster, const Layout& layout,
         const LinkRates& reached)
      : e_(e), route_(route), cluster_(cluster), layout_(layout), reached_(reached) {}
  CommunicationTime by_rings() const {
    return sum([&](std::size_t i, double share) { return at(default_algorithm(e_.op), i, share); });
  }
  CommunicationTime by(Collectives chosen) const {
    return sum([&](std::size_t i, double share) { return least(chosen, i, share); });
  }

 private:
  template <typename F>
  CommunicationTime sum(const F& f) const {
    CommunicationTime t;
    double share = 1;
    for (std::size_t i = 0; i < cluster_.levels.size(); ++i) {
      if (i > 0) share /= static_cast<double>(route_[i].fewest) / static_cast<double>(route_[i - 1].fewest);
      t += f(i, share * unevenness(e_.op, route_[i]));
    }
    return t;
  }
  CommunicationTime at(Algorithm a, std::size_t level, double share) const {
    const Link link = joining_group(cluster_.levels[level], layout_, e_.group);
    const CommunicationTime t = communication_time(e_, a, route_[level].parts, link, reached_, level > 0);
    return {t.waits, share * t.transfer};
  }
  CommunicationTime least(Collectives chosen, std::size_t level, double share) const {
    const Ways all = ways(e_.op, chosen, level > 0, cluster_.levels[level]);
    CommunicationTime best = at(all[0], level, share);
    for (const Algorithm a : all)
      if (const CommunicationTime t = at(a, level, share); t.total() < best.total()) best = t;
    return best;
  }

  const CollectiveCall& e_;
  const Route& route_;
  const Cluster& cluster_;
  const Layout& layout_;
  const LinkRates& reached_;
};

/// How an all-to-all differs from separate messages to every rank.
struct Paths {
  double ranks_reached = 1;        ///< number of ranks that receive data from one message to another node
  double inside = 1, between = 1;  ///< bytes within a node and between nodes, relative to separate messages
};
/// If the number of nodes per token is limited, or a rank receives a token once for all of its experts, a token is sent
/// once to each of its nodes and forwarded from there: to its K experts, or to X ranks on average.
Paths paths(const CollectiveCall& e, const Route& route, const Layout& layout) {
  if (e.routing.top_k == 0) return {};
  const auto k = static_cast<double>(e.routing.top_k);
  const auto all = static_cast<double>(ranks(layout, e.group)), node = static_cast<double>(route[0].most);
  const double copies = layout.once_per_rank ? expected_nodes(e.routing, all, 0) / k : 1;
  if (layout.expert_nodes == 0 && !layout.once_per_rank) return {};
  const double reached = expected_nodes(e.routing, static_cast<double>(nodes(route)), layout.expert_nodes);
  return {node, copies * all / node, reached / k};
}

/// Traffic of an all-to-all over a level: rounds, and bytes as a share of the whole buffer. A rank in the smallest
/// part has the most ranks outside its part. On a torus, other ranks forward messages.
struct Scatter {
  double rounds, share;
};
Scatter scatter(const Meeting& m, const Link& link, double all) {
  const auto others = static_cast<double>(m.most - m.fewest), most = static_cast<double>(m.most);
  if (link.torus.empty()) return {others, others / all};
  return {static_cast<double>(farthest(link.torus)), most / all * all_to_all_load(link.torus).value()};
}

/// Time of an all-to-all. Every rank sends a message to every other rank, over the innermost level that connects the
/// two.
CommunicationTime all_to_all(const CollectiveCall& e, const Route& route, const Cluster& cluster, const Layout& layout,
                             const LinkRates& reached) {
  const auto all = static_cast<double>(ranks(layout, e.group)), messages = static_cast<double>(e.messages);
  const Paths p = paths(e, route, layout);
  CommunicationTime t;
  for (std::size_t i = 0; i < cluster.levels.size(); ++i) {
    if (route[i].parts == 1) continue;
    const Link link = joining_group(cluster.levels[i], layout, e.group);
    const Scatter sent = scatter(route[i], link, all);
    const bool outer = i > 0;
    const double all_rounds = outer ? sent.rounds / p.ranks_reached : sent.rounds;
    const double rounds = reached.trees ? std::min(all_rounds, tree_rounds(all_rounds + 1)) : all_rounds;
    const Seconds waits = std::max(all_rounds * reached.latencies * link.latency, rounds * reached.round(outer));
    const BytesPerSecond rate = reached.share(outer) * link.bandwidth;
    t.waits = std::max(t.waits, messages * waits);
    t.transfer = std::max(t.transfer, (i > 0 ? p.between : p.inside) * sent.share * (e.bytes / rate));
  }
  return t;
}

}  // namespace

namespace {
CommunicationTime started_collective(const CollectiveCall& e, const Layout& layout, const Cluster& cluster,
                                     const LinkRates& reached) {
  if (e.op == CollectiveOp::p2p)
    return communication_time(e, default_algorithm(e.op), ranks(layout, e.group), group_link(cluster, layout, e.group),
                              reached, !is_inside(cluster, layout, e.group));
  const Route r = route(cluster, layout, e.group);
  if (e.op == CollectiveOp::all_to_all) return all_to_all(e, r, cluster, layout, reached);
  const Levels levels(e, r, cluster, layout, reached);
  return layout.collectives == Collectives::ring ? levels.by_rings() : levels.by(layout.collectives);
}
}  // namespace

CommunicationTime communication_time(const CollectiveCall& e, const Layout& layout, const Cluster& cluster,
                                     const LinkRates& reached) {
  if (ranks(layout, e.group) == 1) return {};
  CommunicationTime t = started_collective(e, layout, cluster, reached);
  t.waits += static_cast<double>(e.messages) * reached.start;
  return t;
}

CommunicationTime communication_time(const CollectiveCalls& all, const Layout& layout, const Cluster& cluster,
                                     const LinkRates& reached) {
  CommunicationTime t;
  for (const CollectiveCall& e : all) t += communication_time(e, layout, cluster, reached);
  return t;
}

PassTime pass_time(const PassSum& sum, const Prices& prices, const Plan& plan, const Layout& layout,
                   const Cluster& cluster) {
  const auto at = [&](const Rates& r, const Time& by_operator) {
    Time t = plan.roofline == Roofline::step ? step_time(by_operator.compute, sum.cost, r) : by_operator;
    for (const CollectiveCall& e : sum.collectives)
      t.communication += (1 - r.hidden(e.group)) * communication_time(e, layout, cluster, r.links).total();
    t.latency += r.software.pass(plan.batch);
    return t;
  };
  const Time bound = at(prices.bound_rates, sum.bound);
  return {bound, prices.estimated ? at(prices.estimated_rates, sum.estimate) : bound};
}

}  // namespace llmcalc
