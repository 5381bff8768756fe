// Laws of every queue, and results of queueing theory for simple servers.

#include <algorithm>
#include <cmath>

#include "serve/fleet/fleet.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;
using test::even_times;
using test::one_second;

namespace {

using Kind = Distribution::Kind;

/// One-token requests at random times, one every `interval` seconds on average.
RequestTraffic poisson(double interval, const Distribution& prompt, Count n) {
  return open_traffic({.count = n,
                       .interval = {.kind = Kind::exponential, .mean = interval},
                       .prompt = prompt,
                       .generate = {.mean = 1},
                       .seed = 7});
}
/// A server that handles one request at a time and takes a second per 1000 prompt tokens.
Fleet one_at_a_time() { return {.server = {.scheduler = {.pass_tokens = 1 << 20, .sequences = 1}}}; }
PassTimes by_tokens() {
  PassTimes t;
  t.prompts[0].push({.query = one_second / 1000});
  return t;
}
double mean_latency(const ServerRun& run, const RequestTraffic& t) { return served(run, t, 1).latency.mean.value; }

/// Traffic with every feature, for a server with too few blocks.
RequestTraffic mixed(Count n) {
  return open_traffic({.count = n,
                       .interval = {.kind = Kind::exponential, .mean = 2},
                       .prompt = {.kind = Kind::log_normal, .mean = 50, .spread = 1},
                       .generate = {.kind = Kind::gamma, .mean = 20, .spread = 1},
                       .turns = 2,
                       .think = {.kind = Kind::uniform, .mean = 5, .spread = 1},
                       .prefix_tokens = 16,
                       .seed = 3});
}
Fleet tight() {
  return {.server = {.scheduler = {
                         .pass_tokens = 64, .sequences = 8, .block_tokens = 4, .blocks = 260, .prefix_cache = true}}};
}

}  // namespace

TEST_CASE("waiting times in M/D/1 and M/G/1 match the Pollaczek-Khinchine formula", "[serve][queue]") {
  // W = rate E[S^2] / (2 (1 - load)); one request at a time, of 1 s on average.
  for (const double load : {0.2, 0.5}) {
    const RequestTraffic same = poisson(1 / load, {.mean = 1000}, 100'000);
    CHECK(mean_latency(serve(one_at_a_time(), by_tokens(), same), same) ==
          Approx(1 + load / (2 * (1 - load))).epsilon(0.01));
    const RequestTraffic gamma = poisson(1 / load, {.kind = Kind::gamma, .mean = 1000, .spread = 0.7}, 100'000);
    CHECK(mean_latency(serve(one_at_a_time(), by_tokens(), gamma), gamma) ==
          Approx(1 + load * 1.49 / (2 * (1 - load))).epsilon(0.02));
  }
}

TEST_CASE("Little's law holds exactly: the time of requests in the system is the sum of their latencies",
          "[serve][queue]") {
  const RequestTraffic t = mixed(300);
  const ServerRun run = serve(tight(), even_times(), t);
  Ticks latencies = 0;
  for (const AnswerTimes& a : run.answers) latencies += a.last - a.sent;
  CHECK(run.presence == latencies);
}

TEST_CASE("the simulation loses no request or token, and the cache never exceeds its blocks", "[serve][queue]") {
  const RequestTraffic t = mixed(300);
  const ServerRun run = serve(tight(), even_times(), t);
  Count tokens = 0, preempted = 0;
  for (std::size_t i = 0; i < t.requests.size(); ++i) {
    const AnswerTimes a = run.answers[i];
    CHECK(a.sent < a.first);
    CHECK((a.first < a.last) == (t.requests[i].generate > 1));
    CHECK(a.last != never);
    tokens += t.requests[i].generate;
    preempted += a.preemptions;
  }
  CHECK(run.tokens == tokens);
  CHECK(run.gaps.size() == tokens - static_cast<Count>(t.requests.size()));
  CHECK(preempted > 10);
  CHECK(run.most_blocks <= 260);
}

TEST_CASE("gaps between tokens add up to the time from the first token to the last", "[serve][queue]") {
  const RequestTraffic t = mixed(300);
  PassTimes growing = even_times();  // a pass takes longer with more keys
  growing.decodes[0].push({.key = one_second / 1000});
  growing.decodes[0].push({.constant = one_second / 4, .key = one_second / 4000});
  Fleet padded = tight(), ranks = tight();
  padded.server.scheduler.batching = Batching::fixed;
  padded.server.scheduler.blocks = 4000;
  ranks.server.ranks = 3;
  const RequestTraffic one{.requests = {test::request(10, 200)}};
  for (const auto& [fleet, traffic] :
       {std::pair{tight(), &t}, std::pair{padded, &t}, std::pair{ranks, &t}, std::pair{tight(), &one}}) {
    const ServerRun run = serve(fleet, growing, *traffic);
    Ticks between = 0;
    for (const AnswerTimes& a : run.answers) between += a.last - a.first;
    CHECK(run.gaps.sum() == between);
    CHECK(run.gaps.size() == run.tokens - static_cast<Count>(traffic->requests.size()));
  }
}

TEST_CASE("work is conserved: a pass runs whenever a request is in the system", "[serve][queue]") {
  const RequestTraffic t = mixed(100);
  Ticks end = 0, rested = 0, present = 0;
  std::vector<std::pair<Ticks, int>> changes;
  const ServerWatch watch{.pass = [&](const PassRecord& p) {
    rested += p.start - end;
    end = p.end;
  }};
  const ServerRun run = serve(tight(), even_times(), t, watch);
  for (const AnswerTimes& a : run.answers) {
    changes.emplace_back(a.sent, 1);
    changes.emplace_back(a.last, -1);
  }
  std::sort(changes.begin(), changes.end());
  int in_system = 0;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    in_system += changes[i].second;
    if (in_system > 0) present += changes[i + 1].first - changes[i].first;
  }
  CHECK(run.busy == present);
  CHECK(run.end == run.busy + rested);
}

TEST_CASE("a simulated run is identical on every machine", "[serve][queue]") {
  const ServerRun run = serve(tight(), even_times(), mixed(200));
  std::uint64_t hash = 0;
  for (const AnswerTimes& a : run.answers) {
    // Arrivals are doubles, compared here to the microsecond.
    hash = (hash ^ static_cast<std::uint64_t>(a.last / (one_second / 1'000'000))) * 0x100000001b3;
    hash = (hash ^ static_cast<std::uint64_t>(a.cached + 1000 * a.preemptions)) * 0x100000001b3;
  }
  CHECK(hash == 0xbad3122b710a68d0);
  CHECK(run.passes == 1161);
}

TEST_CASE("random draws have the mean and the spread of their distributions", "[serve][random]") {
  const auto moments = [](const Distribution& d) {
    Random r(5);
    double sum = 0, squares = 0;
    for (int i = 0; i < 100'000; ++i) {
      const double x = draw(d, r);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / 1e5;
    return std::pair(mean, std::sqrt(squares / 1e5 - mean * mean) / mean);
  };
  for (const Kind kind : {Kind::gamma, Kind::log_normal}) {
    for (const double spread : {0.5, 1.5}) {
      const auto [mean, deviation] = moments({.kind = kind, .mean = 3, .spread = spread});
      CHECK(mean == Approx(3).epsilon(0.02));
      CHECK(deviation == Approx(spread).epsilon(0.05));
    }
  }
  CHECK(moments({.kind = Kind::exponential, .mean = 3}).second == Approx(1).epsilon(0.02));
  CHECK(moments({.kind = Kind::uniform, .mean = 3, .spread = 1}).second == Approx(1 / std::sqrt(3)).epsilon(0.02));
  const Distribution bins{.kind = Kind::histogram, .bins = {{10, 1}, {20, 3}}};  // means 5 and 15, weighted 1:3
  CHECK(mean(bins) == Approx(12.5));
  CHECK(moments(bins).first == Approx(12.5).epsilon(0.01));
}
