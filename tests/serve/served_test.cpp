// Summaries of runs.

#include "serve/served.hpp"

#include <vector>

#include "serve/fleet/fleet.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;
using test::even_times;
using test::one_second;
using test::request;

TEST_CASE("a percentile lies between the two nearest samples", "[serve][served]") {
  std::vector<Seconds> values;
  for (int i = 1; i <= 5; ++i) values.emplace_back(i);
  CHECK(percentile(values, 50).value == Approx(3));
  CHECK(percentile(values, 90).value == Approx(4.6));
  CHECK(percentile(values, 99.9).value == Approx(4.996));
  const Spread s = spread({Seconds(7)});
  CHECK(s.mean == Seconds(7));
  CHECK(s.p999 == Seconds(7));
}

TEST_CASE("token gaps are the same whether consecutive passes are recorded together or one by one", "[serve][served]") {
  TokenGaps together, single;
  together.add(one_second / 10, one_second / 5, 1001 * (one_second * 3 / 20), 1001, 3);
  for (int i = 0; i <= 1000; ++i) single.add(one_second / 10 + i * (one_second / 10'000), 3);
  CHECK(together.size() == 3003);
  CHECK(together.mean().value == Approx(0.15));
  for (const double percent : {1.0, 10.0, 50.0, 90.0, 99.0}) {
    CHECK(together.percentile(percent).value == Approx(single.percentile(percent).value).epsilon(0.021));
    CHECK(together.percentile(percent).value == Approx(0.1 + percent / 1000).epsilon(0.011));
  }
}

TEST_CASE("percentiles of gaps lie between the smallest and the largest gap", "[serve][served]") {
  TokenGaps same, near;
  same.add(one_second / 42, 1000);
  for (const double percent : {1.0, 50.0, 99.9}) CHECK(same.percentile(percent) == seconds(one_second / 42));
  near.add(one_second * 2379 / 100'000, 900);
  near.add(one_second * 2380 / 100'000, one_second * 2381 / 100'000, 11 * (one_second * 4761 / 200'000), 11, 10);
  for (const double percent : {0.1, 50.0, 90.0, 99.0, 99.9}) {
    CHECK(near.percentile(percent).value >= 0.02379);
    CHECK(near.percentile(percent).value <= 0.02381);
  }
  CHECK(near.percentile(50) <= near.percentile(99.9));
}

TEST_CASE("a run ends when the observer of its answers stops it", "[serve][served]") {
  const RequestTraffic t{.requests = std::vector<ServerRequest>(20, request(10, 5)), .users = 1};
  Count seen = 0;
  const ServerRun run =
      serve({}, even_times(), t, {.answered = [&](RequestId, const AnswerTimes&) { return ++seen < 7; }});
  CHECK(run.stopped);
  CHECK(seen == 7);
  CHECK(served(run, t, 1).requests == 7);
}

TEST_CASE("a summary of a run matches a hand count", "[serve][served]") {
  // Gaps of 3, 1 and 1 s. The second request arrives at 1 s and waits until 2 s.
  const RequestTraffic t{.requests = {request(10, 3), request(20, 2, Seconds(1))}};
  const ServerRun run = serve({}, even_times(), t);
  // 0 to 2 s: the first prompt; 2 to 5 s: its second token with the other prompt; 5 to 6 s: a token of each.
  const Served s = served(run, t, 1, {.first_token = Seconds(3)});
  CHECK(s.requests == 2);
  CHECK(s.first_token.mean.value == Approx((2.0 + 4.0) / 2));
  CHECK(s.per_token.mean.value == Approx((4.0 / 2 + 1.0) / 2));
  CHECK(s.latency.mean.value == Approx((6.0 + 5.0) / 2));
  CHECK(s.gap.mean.value == Approx((3.0 + 1.0 + 1.0) / 3));
  CHECK(s.duration.value == Approx(6));
  CHECK(s.prompt_rate == Approx(30.0 / 6));
  CHECK(s.token_rate == Approx(5.0 / 6));
  CHECK(s.goodput == Approx(1.0 / 6));
  CHECK(s.met == Approx(0.5));
  CHECK(s.utilization == Approx(1));
}

TEST_CASE("closed-loop rates are measured over the interval in which all users send requests", "[serve][served]") {
  // One user, requests of 2 + 1 + 1 = 4 s and 6 s of think time: one answer every 10 s, at 4, 14 ... 94 s.
  RequestTraffic t{.requests = std::vector<ServerRequest>(10, request(10, 3, Seconds(6))), .users = 1};
  t.requests.set_at(0, Seconds(0));
  const ServerRun run = serve({}, even_times(), t);
  const Served s = served(run, t, 1, {.first_token = Seconds(1)});
  CHECK(s.requests == 10);
  CHECK(s.duration.value == Approx(94));
  CHECK(s.counted.begin.value == Approx(4));
  CHECK(s.counted.time.value == Approx(80));  // the last request follows the answer at 84 s
  CHECK(s.counted.requests == 8);
  CHECK(s.request_rate == Approx(0.1));
  CHECK(s.prompt_rate == Approx(1));
  CHECK(s.token_rate == Approx(0.3));
  CHECK(s.goodput == 0);
  CHECK(s.counted.busy.value == Approx(32).epsilon(0.01));  // within a sample passes are spread evenly
  CHECK(s.utilization == Approx(0.4).epsilon(0.01));
}

TEST_CASE("a closed loop with few rounds is measured over its full duration", "[serve][served]") {
  const RequestTraffic t{.requests = std::vector<ServerRequest>(3, request(10, 3)), .users = 1};
  const Served s = served(serve({}, even_times(), t), t, 1);
  CHECK(s.counted.requests == 3);  // only one lies between the first and the second answer
  CHECK(s.counted.time == s.duration);
  CHECK(s.request_rate == Approx(0.25));
}

TEST_CASE("timeline samples add up to the totals of a run of any length", "[serve][served]") {
  for (const Count n : {3, 300}) {
    const RequestTraffic t{.requests = std::vector<ServerRequest>(static_cast<std::size_t>(n), request(10, 50)),
                           .users = 2};
    const ServerRun run = serve({}, even_times(), t);
    double tokens = 0, prompts = 0, presence = 0, busy = 0;
    const std::vector<Sample> samples = run.timeline.samples();
    for (const Sample& s : samples) {
      tokens += s.tokens;
      prompts += s.prompt_tokens;
      presence += s.length.value * (s.in_progress + s.waiting);
      busy += s.length.value * s.busy;
    }
    CHECK(samples.size() <= 512);
    CHECK(tokens == Approx(static_cast<double>(run.tokens)));
    CHECK(prompts == Approx(static_cast<double>(run.prompt_tokens)));
    CHECK(presence == Approx(seconds(run.presence).value));
    CHECK(busy == Approx(seconds(run.busy).value));
  }
}

TEST_CASE("the last timeline sample ends with the run, and padding of a fixed batch adds no tokens",
          "[serve][served]") {
  RequestTraffic t{.requests = {request(10, 50), request(10, 2)}};
  const SchedulerRules fixed{.sequences = 2, .batching = Batching::fixed};
  const ServerRun run = serve({.server = {.scheduler = fixed}}, even_times(), t);
  const std::vector<Sample> samples = run.timeline.samples();
  double tokens = 0;
  for (const Sample& s : samples) tokens += s.tokens;
  CHECK((samples.back().start + samples.back().length).value == Approx(seconds(run.end).value));
  CHECK(samples.back().busy == Approx(1));  // a pass ran to the end
  CHECK(tokens == Approx(52));
}

TEST_CASE("answered requests of a fixed batch no longer count as in progress", "[serve][served]") {
  RequestTraffic t{.requests = {request(10, 50), request(10, 2), request(10, 9), request(10, 30)}, .users = 2};
  const SchedulerRules fixed{.sequences = 2, .batching = Batching::fixed};
  const ServerRun run = serve({.server = {.scheduler = fixed}}, even_times(), t);
  double latencies = 0;
  for (const AnswerTimes& a : run.answers) latencies += seconds(a.last - a.sent).value;
  CHECK(seconds(run.presence).value == Approx(latencies));
  for (const Sample& s : run.timeline.samples()) CHECK(s.in_progress + s.waiting <= 2 + 1e-9);
}

TEST_CASE("an observer that stops a run receives the results so far", "[serve][served]") {
  const RequestTraffic t{.requests = std::vector<ServerRequest>(20'000, request(10, 2)), .users = 4};
  const ServerWatch watch{.goes_on = [](Count answered, Count all) { return answered < all / 2; }};
  const ServerRun run = serve({}, even_times(), t, watch);
  CHECK(run.stopped);
  const Served s = served(run, t, 1);
  CHECK(s.requests >= 10'000);
  CHECK(s.requests < 15'000);
}
