// Sessions in a cache, in theory and in simulations.

#include "serve/session_cache.hpp"

#include <cmath>

#include "serve/times/steady_state.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;
using test::one_second;

namespace {

using Kind = Distribution::Kind;

/// Sessions of five turns, each with 40 + 24 tokens, and 50 s between turns.
constexpr Sessions chats{.turns = 5, .think = Seconds(50), .history = 128};

SchedulerRules cache_of(Count blocks) { return {.block_tokens = 4, .blocks = blocks, .prefix_cache = true}; }

/// A pass takes a millisecond, so that few requests are in progress.
PassTimes fast() {
  PassTimes t;
  t.rows = PassRowTimes({{1, one_second / 1000}, {2, one_second / 1000}});
  return t;
}

/// Prefix-cache hit rate of a server with `blocks` blocks, for turns that arrive at `rate` per second and reuse their
/// history.
double simulated(Count blocks, double rate) {
  const RequestTraffic t = open_traffic({.count = 4000,
                                         .interval = {.kind = Kind::exponential, .mean = 5 / rate},
                                         .prompt = {.mean = 40},
                                         .generate = {.mean = 24},
                                         .turns = 5,
                                         .think = {.kind = Kind::exponential, .mean = 50},
                                         .seed = 3});
  const double prompt = 40 + chats.history;
  return served(serve({.server = {.scheduler = cache_of(blocks)}}, fast(), t), t, 1).cached * prompt / chats.history;
}

}  // namespace

// The k-th of five turns leaves 16 k blocks. At 5 turns and one new session per second, a cache that keeps all blocks
// for a time T holds 16 x (1 + 2 + 3 + 4) x 50 (1 - exp(-T / 50)) + 16 x 5 T blocks.
TEST_CASE("a session stays cached until newer blocks fill the cache", "[serve][steady-state]") {
  const double time = 30, kept = 1 - std::exp(-time / 50);
  CHECK(kept_share(cache_of(0), chats, 5, 160 * 50 * kept + 80 * time) == Approx(kept).epsilon(1e-9));
  CHECK(kept_share(cache_of(0), chats, 10, 2 * (160 * 50 * kept + 80 * time)) == Approx(kept).epsilon(1e-9));
  CHECK(kept_share(cache_of(0), chats, 5, 1e9) == Approx(1).epsilon(1e-9));
}

TEST_CASE("the simulated prefix-cache hit rate of sessions matches the theoretical one", "[serve][steady-state]") {
  double last = 0;
  for (const Count blocks : {2000, 6000, 15000}) {
    CAPTURE(blocks);
    const double share = kept_share(cache_of(blocks), chats, 5, static_cast<double>(blocks));
    CHECK(simulated(blocks, 5) == Approx(share).margin(0.03));
    CHECK(share > last + 0.1);
    last = share;
  }
}
