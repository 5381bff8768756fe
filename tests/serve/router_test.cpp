// Routing of requests to replicas.

#include "serve/fleet/router.hpp"

#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;
using test::even_times;
using test::one_second;
using test::request;

namespace {

const PrefixTree alone;  ///< no prefix extends another

RequestTraffic chats() {
  return open_traffic({.count = 60,
                       .interval = {.kind = Distribution::Kind::exponential, .mean = 4},
                       .prompt = {.mean = 40},
                       .generate = {.mean = 10},
                       .turns = 5,
                       .think = {.kind = Distribution::Kind::exponential, .mean = 10},
                       .seed = 2});
}
Served chat(Routing routing) {
  const RequestTraffic t = chats();
  const Fleet fleet{.server = {.scheduler = {.block_tokens = 4, .blocks = 2000, .prefix_cache = true}},
                    .replicas = 4,
                    .routing = routing};
  return served(serve(fleet, even_times(), t), t, 4);
}

}  // namespace

TEST_CASE("round robin rotates over replicas, and least-loaded picks the one with the fewest requests",
          "[serve][router]") {
  Router turns(Routing::round_robin, 3, alone), least(Routing::least_loaded, 3, alone);
  const ServerRequest r = request(1, 1);
  for (const std::size_t expected : {0, 1, 2, 0}) CHECK(turns.route(r) == expected);
  for (const std::size_t expected : {0, 1, 2, 0}) CHECK(least.route(r) == expected);
  least.done(2);
  CHECK(least.route(r) == 2);
}

TEST_CASE("a session stays on its replica, unless that replica is much busier", "[serve][router]") {
  Router router(Routing::prefix_aware, 2, alone);
  ServerRequest session = request(1, 1);
  session.session = 5;
  const std::size_t home = router.route(session);
  for (int i = 0; i < 8; ++i) CHECK(router.route(session) == home);
  CHECK(router.route(session) != home);  // 9 requests there, 0 here
}

TEST_CASE("a prefix goes to a replica that has had the longest part of it", "[serve][router]") {
  PrefixTree tree;  // prefixes 1 and 2 extend 0, prefix 3 extends 1
  for (const ChainId parent : {no_chain, ChainId{0}, ChainId{0}, ChainId{1}})
    tree.add(parent, parent == no_chain ? 0 : 9);
  Router router(Routing::prefix_aware, 3, tree);
  const auto route = [&](ChainId prefix) {
    ServerRequest r = request(1, 1);
    r.prefix = prefix;
    return router.route(r);
  };
  const std::size_t first = route(1);
  CHECK(route(2) == first);  // has had 0
  for (int i = 0; i < 7; ++i) route(0);
  const std::size_t other = route(0);  // the first is too busy
  CHECK(other != first);
  CHECK(route(0) == other);  // less loaded than the first
  router.done(first);
  router.done(first);
  CHECK(route(3) == first);  // has had 1, the other replica only 0
}

TEST_CASE("all replicas that cache a prefix share its requests", "[serve][router]") {
  Router router(Routing::prefix_aware, 3, alone);
  ServerRequest r = request(1, 1);
  r.prefix = 2;
  std::vector<int> given(3);
  for (int i = 0; i < 300; ++i) ++given[router.route(r)];
  for (const int n : given) CHECK(n > 95);  // a replica with 8 fewer requests takes over; then all take turns
}

TEST_CASE("a prefix shared by all requests keeps the replicas balanced", "[serve][router]") {
  const auto mean_wait = [](Routing routing) {
    const RequestTraffic t = open_traffic({.count = 2000,
                                           .interval = {.kind = Distribution::Kind::exponential, .mean = 0.2},
                                           .prompt = {.mean = 5},
                                           .generate = {.mean = 4},
                                           .prefix_tokens = 40,
                                           .seed = 4});
    const SchedulerRules rules{
        .pass_tokens = 64, .sequences = 64, .block_tokens = 4, .blocks = 400, .prefix_cache = true};
    const Fleet fleet{.server = {.scheduler = rules}, .replicas = 4, .routing = routing};
    return served(serve(fleet, even_times(), t), t, 4).first_token.mean;
  };
  // Close to least-loaded routing, since all replicas soon have the prefix.
  CHECK(mean_wait(Routing::prefix_aware) < 1.25 * mean_wait(Routing::least_loaded));
}

TEST_CASE("sessions that stay on a replica find their tokens in its cache", "[serve][router]") {
  const Served turns = chat(Routing::round_robin), near = chat(Routing::prefix_aware);
  // Turn k of 5 has 40 k + 10 (k - 1) tokens and finds 50 (k - 1) from earlier turns: 500 of 700.
  CHECK(near.cached > 0.65);
  CHECK(near.cached <= 500.0 / 700);
  CHECK(turns.cached < 0.5 * near.cached);
  CHECK(near.first_token.mean < turns.first_token.mean);
}

TEST_CASE("data-parallel ranks wait for the slowest rank in every pass", "[serve][ranks]") {
  // Two ranks, a request each: a prompt of 10 and one of 40 tokens share a pass of 1 s + 40 x 0.1 s.
  const RequestTraffic t{.requests = {request(10, 3), request(40, 3)}};
  const ServerRun run = serve({.server = {.ranks = 2}}, even_times(), t);
  CHECK(run.answers[0].first == 5 * one_second);
  CHECK(run.answers[1].first == 5 * one_second);
  CHECK(run.passes == 3);
}

TEST_CASE("each pass of synchronized ranks takes the time of the slowest rank", "[serve][ranks]") {
  PassTimes t = even_times();
  t.decodes[0].push({.constant = 100 * one_second});
  t.decodes[0].push({.key = one_second});
  // Contexts 98 and 60: the first request's keys exceed the minimum after two passes.
  const RequestTraffic traffic{.requests = {request(98, 11), request(60, 11)}};
  const ServerRun run = serve({.server = {.ranks = 2}}, t, traffic);
  // 1 s + 98 x 0.1 s; ten passes of 1 s and max(100, 99 .. 108) s
  const Count keys = 100 + 100 + 101 + 102 + 103 + 104 + 105 + 106 + 107 + 108;
  CHECK(run.end == one_second * 108 / 10 + (10 + keys) * one_second);
}
