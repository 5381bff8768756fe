#include "calc/exchange.hpp"

namespace llmcalc {
namespace {

/// Bytes of `repeats` messages of `elements` numbers each.
Bytes bytes_of(const Collective& c, const Pricing& p) {
  const Bytes one =
      c.number_bytes > 0 ? Bytes(mul(c.elements, c.number_bytes)) : llmcalc::bytes_of(p.activation, c.elements);
  return c.repeats * one;
}

Exchange exchange(const Collective& c, CollectiveOp op, const Pricing& p) {
  return {.group = c.group, .op = op, .messages = c.repeats, .bytes = bytes_of(c, p)};
}

}  // namespace

void Exchanges::add(const Exchange& e) {
  for (Exchange& known : list_)
    if (known.group == e.group && known.op == e.op) {
      known.messages = llmcalc::add(known.messages, e.messages);
      known.bytes += e.bytes;
      return;
    }
  list_.push(e);
}

void add_forward(Exchanges& all, const Collective& c, const Pricing& p) {
  if (c.forward_on) all.add(exchange(c, c.forward, p));
}

void add_backward(Exchanges& all, const Collective& c, const Pricing& p) {
  if (c.backward_on) all.add(exchange(c, c.backward, p));
  if (c.regather) all.add(exchange(c, c.forward, p));
}

ExchangeTime exchange_time(const Exchange& e, Count ranks, const Link& link) {
  const std::optional<CollectiveSchedule> s = collective_schedule(e.op, CollectiveAlgorithm::ring, ranks);
  if (!s || s->rounds == 0) return {};
  const double waits = static_cast<double>(mul(e.messages, s->rounds));
  return {waits * link.latency, Seconds(s->load.value() * static_cast<double>(e.bytes.value) / link.bandwidth.value)};
}

}  // namespace llmcalc
