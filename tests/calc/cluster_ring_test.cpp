// Ring attention: keys and values circulate while attention cores compute.

#include <algorithm>

#include "tests/calc/cluster_cases.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// A ring whose messages take 1 us per step; core time in microseconds.
struct Ring {
  Count ranks;
  double core;
};
/// Exposed time step by step: c steps of the core, each but the last (or the first) overlapped with a message.
double by_steps(const Ring& r, double messages_a_step, double home) {
  const double steps = static_cast<double>(r.ranks - 1), core = r.core / static_cast<double>(r.ranks);
  return steps * std::max(0.0, messages_a_step - core) + home;
}
double exposed(const Ring& r, bool backward, double hidden) {
  const Count messages = backward ? 2 * r.ranks - 1 : r.ranks - 1;
  const CollectiveCall e{
      .group = Group::context, .op = CollectiveOp::p2p, .messages = messages, .bytes = Bytes(100 * messages)};
  const Seconds all(static_cast<double>(messages));
  return ring_time(e, all, Seconds(r.core), r.ranks, backward).exposed(hidden, 0).value;
}

struct Sample {
  ClusterCase c;
  Prices prices;
  RowTimes rows;
};
Sample sample(Cases& cases, ContextMethod method, std::optional<double> overlap) {
  for (;;) {
    Sample s{cases.any(), {}, {}};
    if (s.c.layout.cp == 1) continue;
    s.c.layout.context_method = method;
    s.c.plan.overlap = overlap;
    s.c.plan.recompute = Recompute::none;
    s.c.cluster =
        cases.coin() ? cases.clusters(1e7) : cases.clusters(1e13, 1e-11);  // messages longer or shorter than cores
    if (!Cases::sound(s.c)) continue;
    s.prices = price(s.c.arch, s.c.plan, s.c.layout, s.c.cluster.device);
    s.rows = row_times(s.prices, s.c.plan, s.c.layout, s.c.cluster, Efficiency::full);
    return s;
  }
}
double all_messages(const Sample& s, const PassPrice& pass) {
  double all = 0;
  for (const CollectiveCall& e : pass.collectives)
    if (e.group == Group::context) all += communication_time(e, s.c.layout, s.c.cluster).total().value;
  return all;
}

}  // namespace

TEST_CASE("a ring exposes message time beyond the core's steps, plus the return message in backward",
          "[cluster][ring]") {
  for (const Count c : {2, 4, 8})
    for (const double core : {0.0, 1.0, 4.0, 7.5, 16.0, 100.0}) {
      INFO(c << " ranks, core " << core);
      CHECK(exposed({c, core}, false, 1) == Approx(by_steps({c, core}, 1, 0)).epsilon(1e-12).margin(1e-15));
      CHECK(exposed({c, core}, true, 1) == Approx(by_steps({c, core}, 2, 1)).epsilon(1e-12).margin(1e-15));
      const auto messages = static_cast<double>(c - 1);
      CHECK(exposed({c, core}, false, 0) == Approx(messages).epsilon(1e-12));  // without overlap
      CHECK(exposed({c, core}, true, 0) == Approx(2 * messages + 1).epsilon(1e-12));
    }
}

TEST_CASE("a ring of four ranks with an 8 s core and 3 s messages exposes 3 s forward and 15 s backward",
          "[cluster][ring]") {
  // Forward: 3 messages of 3 over 3 steps of 2. Backward, with an equal core: 3 x (3 + 3) over 3 x 2, plus 3 back.
  const CollectiveCall forward{.group = Group::context, .op = CollectiveOp::p2p, .messages = 3, .bytes = {}},
      backward{.group = Group::context, .op = CollectiveOp::p2p, .messages = 7, .bytes = {}};
  const RingTime f = ring_time(forward, Seconds(9), Seconds(8), 4, false),
                 b = ring_time(backward, Seconds(21), Seconds(8), 4, true);
  CHECK(f.exposed(1, 0).value == Approx(9 - 6).epsilon(1e-12));
  CHECK(b.exposed(1, 0).value == Approx(18 - 6 + 3).epsilon(1e-12));
  CHECK(f.exposed(0.5, 0.5).value == Approx(9 - 6 + 0.5 * 6).epsilon(1e-12));
  CHECK(b.exposed(0.5, 0.5).value == Approx(18 - 6 + 0.5 * 6 + 0.5 * 3).epsilon(1e-12));
}

TEST_CASE("a layer waits for the part of its ring that its core does not overlap", "[cluster][ring]") {
  Cases cases(71);
  int hidden = 0, left = 0;
  for (int i = 0; i < 300; ++i) {
    const Sample s = sample(cases, ContextMethod::ring, std::nullopt);
    const auto c = static_cast<double>(s.c.layout.cp);
    for (std::size_t r = 0; r < s.rows.rows.size(); ++r) {
      const LayerPrice& p = s.prices.rows[r];
      const RowTime& t = s.rows.rows[r];
      const double forward = all_messages(s, p.forward), backward = all_messages(s, p.backward_input);
      const double one = forward / (c - 1);
      REQUIRE(backward == Approx((2 * c - 1) * one).epsilon(1e-12));
      const auto beside = [&](double messages, Seconds core) {
        return std::max(0.0, messages - (c - 1) / c * core.value);
      };
      REQUIRE(t.forward[Part::cp].value ==
              Approx(beside(forward, p.forward.bound_work.attention)).epsilon(1e-9).margin(1e-18));
      REQUIRE(t.backward_input[Part::cp].value ==
              Approx(beside(backward - one, p.backward_input.bound_work.attention) + one).epsilon(1e-9).margin(1e-18));
      if (forward > 0) ++(t.forward[Part::cp].value > 0 ? left : hidden);
    }
  }
  CHECK(hidden > 50);
  CHECK(left > 50);
}

TEST_CASE("all-gather, Ulysses and a ring without overlap are fully exposed", "[cluster][ring]") {
  Cases cases(72);
  for (int i = 0; i < 300; ++i) {
    const ContextMethod method = choices<ContextMethod>[static_cast<std::size_t>(cases.below(3))].value;
    const bool ring = method == ContextMethod::ring;
    const Sample s = sample(cases, method, ring ? std::optional(0.0) : std::nullopt);
    for (std::size_t r = 0; r < s.rows.rows.size(); ++r) {
      const double forward = all_messages(s, s.prices.rows[r].forward);
      const double backward = all_messages(s, s.prices.rows[r].backward_input);
      REQUIRE(s.rows.rows[r].forward[Part::cp].value == Approx(forward).epsilon(1e-12));
      REQUIRE(s.rows.rows[r].backward_input[Part::cp].value == Approx(backward).epsilon(1e-12));
    }
  }
}
