#include "calc/links/collective_call.hpp"

#include <algorithm>

#include "calc/elementary.hpp"

namespace llmcalc {
namespace {

/// Bytes of `repeats` messages of `elements` elements each.
Bytes bytes_of(const Collective& c, const Pricing& p) {
  const Bytes one =
      c.number_bytes > 0 ? Bytes(mul(c.elements, c.number_bytes)) : llmcalc::bytes_of(p.activation, c.elements);
  return c.repeats * one;
}

CollectiveCall collective_call(const Collective& c, CollectiveOp op, const Pricing& p) {
  return {.group = c.group, .op = op, .messages = c.repeats, .bytes = bytes_of(c, p), .routing = c.routing};
}

/// Whether the messages of two calls have the same size.
bool same_size(const CollectiveCall& a, const CollectiveCall& b) {
  return static_cast<Int128>(a.bytes.value) * static_cast<Int128>(b.messages) ==
         static_cast<Int128>(b.bytes.value) * static_cast<Int128>(a.messages);
}

}  // namespace

double expected_nodes(const ExpertRouting& r, double nodes, Count most) {
  const double allowed = most > 0 ? std::min(static_cast<double>(most), nodes) : nodes;
  const double each = static_cast<double>(r.experts) / nodes, all = allowed * each;
  double missed = 1;
  for (Count i = 0; i < r.top_k; ++i)
    missed *= std::max(0.0, all - each - static_cast<double>(i)) / std::max(1.0, all - static_cast<double>(i));
  return allowed * (1 - missed);
}

void CollectiveCalls::add(const CollectiveCall& e) {
  for (CollectiveCall& known : list_)
    if (known.group == e.group && known.op == e.op && same_size(known, e)) {
      known.messages = llmcalc::add(known.messages, e.messages);
      known.bytes += e.bytes;
      known.beside = llmcalc::add(known.beside, e.beside);
      known.for_weights = llmcalc::add(known.for_weights, e.for_weights);
      return;
    }
  list_.push(e);
}

void add_forward(CollectiveCalls& all, const Collective& c, const Pricing& p) {
  if (c.forward_on) all.add(collective_call(c, c.forward, p));
}

void add_backward(CollectiveCalls& all, const Collective& c, const Pricing& p, bool regathers_for_weights) {
  const auto add = [&](CollectiveOp op, bool is_beside, bool is_for_weights) {
    CollectiveCall e = collective_call(c, op, p);
    if (is_beside) e.beside = e.messages;
    if (is_for_weights) e.for_weights = e.messages;
    all.add(e);
  };
  if (c.backward_on) add(c.backward, c.backward != CollectiveOp::all_gather, false);
  if (c.regather) add(c.forward, true, regathers_for_weights);
}

double tree_rounds(double ranks) { return 2 * elementary::log2(ranks) + 4; }

CommunicationTime communication_time(const CollectiveCall& e, CollectiveAlgorithm algorithm, Count ranks,
                                     const Link& link, const LinkRates& reached, bool outer) {
  const std::optional<CollectiveSchedule> s = collective_schedule(e.op, algorithm, ranks, link.torus);
  if (!s || s->rounds == 0) return {};
  const double all = static_cast<double>(s->rounds);
  const double passes = e.op == CollectiveOp::all_reduce ? 2 : 1;
  const double most = passes * tree_rounds(static_cast<double>(ranks));
  const double rounds = outer && reached.trees ? std::min(all, most) : all;
  const Seconds waits = std::max(all * reached.latencies * link.latency, rounds * reached.round(outer));
  const BytesPerSecond rate = reached.share(outer) * link.bandwidth;
  return {static_cast<double>(e.messages) * waits,
          Seconds(s->load.value() * static_cast<double>(e.bytes.value) / rate.value)};
}

CommunicationTime communication_time(const CollectiveCall& e, CollectiveAlgorithm algorithm, Count ranks,
                                     const Link& link) {
  return communication_time(e, algorithm, ranks, link, {}, false);
}

CommunicationTime communication_time(const CollectiveCall& e, Count ranks, const Link& link) {
  return communication_time(e, default_algorithm(e.op), ranks, link);
}

}  // namespace llmcalc
