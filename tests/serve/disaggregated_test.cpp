// Separate engines for prompts and answers, counted by hand.

#include "serve/fleet/disaggregated.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;
using test::even_times;
using test::one_second;
using test::request;

namespace {
Disaggregated pools(Count x, Count y, const CacheTransfer& transfer = {}) {
  return {.prompts = {.replicas = x}, .answers = {.replicas = y}, .transfer = transfer};
}
ServerRun run_of(const Disaggregated& d, const RequestTraffic& t) { return serve(d, even_times(), even_times(), t); }
}  // namespace

TEST_CASE("the prompt engine returns the first token, and the other tokens follow the transfer of the cache",
          "[serve][disaggregated]") {
  const RequestTraffic t{.requests = {request(10, 4)}};
  const ServerRun run = run_of(pools(1, 1, {.wait = one_second / 2, .token = one_second / 20}), t);
  const AnswerTimes a = run.answers[0];
  CHECK(a.first == 2 * one_second);
  // 0.5 s + 10 x 0.05 s; a pass that processes one token like a prompt (1.1 s) gives the second token; then 1 s each
  CHECK(a.last == 6 * one_second + one_second / 10);
  CHECK(a.replica == 1);
  CHECK(run.tokens == 4);
}

TEST_CASE("per-request overhead is counted once, although the request changes engines", "[serve][disaggregated]") {
  PassTimes times = even_times();
  times.request = 3 * one_second;
  const RequestTraffic t{.requests = {request(10, 4)}};
  const Disaggregated moving = pools(1, 1, {.wait = one_second});
  const ServerRun run = serve(moving, times, times, t);
  CHECK(run.answers[0].first == 5 * one_second);
  // The transfer of 1 s directly follows the prompt's pass; then a pass of 1.1 s and two of 1 s.
  CHECK(run.answers[0].last - run.answers[0].first == one_second * 41 / 10);
  CHECK(run.gaps.sum() == one_second * 41 / 10);
  CHECK(run.end == run_of(moving, t).end + times.request);
}

TEST_CASE("a prompt engine transfers the cache of one request at a time", "[serve][disaggregated]") {
  const RequestTraffic t{.requests = {request(10, 2), request(10, 2)}};
  const ServerRun run = run_of(pools(1, 2, {.wait = 5 * one_second}), t);
  CHECK(run.answers[0].last == 3 * one_second + 5 * one_second + one_second * 11 / 10);
  CHECK(run.answers[1].last == 3 * one_second + 10 * one_second + one_second * 11 / 10);
}

TEST_CASE("a request for one token is not transferred to a decode engine", "[serve][disaggregated]") {
  const RequestTraffic t{.requests = {request(10, 1)}};
  const ServerRun run = run_of(pools(1, 1, {.wait = 5 * one_second}), t);
  CHECK(run.answers[0].last == 2 * one_second);
  CHECK(run.end == 2 * one_second);
}

TEST_CASE("with separate prompt engines, decoding is not interrupted by other prompts", "[serve][disaggregated]") {
  RequestTraffic t{.requests = {request(10, 20)}};
  for (int i = 0; i < 8; ++i) t.requests.push_back(request(500, 1, Seconds(3 + i)));
  const ServerRun apart = run_of(pools(1, 1), t), together = serve({}, even_times(), t);
  CHECK(apart.answers[0].last == 21 * one_second + one_second / 10);
  CHECK(together.answers[0].last > 2 * apart.answers[0].last);
}

TEST_CASE("separate prompt and decode engines obey Little's law and lose no tokens", "[serve][disaggregated]") {
  const RequestTraffic t = open_traffic({.count = 200,
                                         .interval = {.kind = Distribution::Kind::exponential, .mean = 0.5},
                                         .prompt = {.kind = Distribution::Kind::log_normal, .mean = 50, .spread = 1},
                                         .generate = {.kind = Distribution::Kind::gamma, .mean = 20, .spread = 1},
                                         .seed = 3});
  Disaggregated d = pools(2, 3, {.wait = one_second / 3, .token = one_second / 500});
  d.answers.server.scheduler = {.sequences = 12, .block_tokens = 4, .blocks = 130};
  const ServerRun run = run_of(d, t);
  Ticks latencies = 0;
  Count tokens = 0, preempted = 0;
  for (std::size_t i = 0; i < t.requests.size(); ++i) {
    latencies += run.answers[i].last - run.answers[i].sent;
    tokens += t.requests[i].generate;
    preempted += run.answers[i].preemptions;
  }
  CHECK(run.presence == latencies);
  CHECK(run.tokens == tokens);
  CHECK(preempted > 0);
}
