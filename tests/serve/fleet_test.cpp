// A server over time, counted by hand.

#include "serve/fleet/fleet.hpp"

#include <vector>

#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"

using namespace llmcalc;
using test::even_times;
using test::one_second;
using test::request;

namespace {

RequestTraffic alike(std::size_t n, Count users, Count prompt, Count generate) {
  return {.requests = std::vector<ServerRequest>(n, request(prompt, generate)), .users = users};
}
Fleet with(const SchedulerRules& rules) { return {.server = {.scheduler = rules}}; }
/// Times of a request's first and last token, in tenths of a second.
std::pair<Count, Count> tenths(const AnswerTimes& a) {
  return {static_cast<Count>(a.first * 10 / one_second), static_cast<Count>(a.last * 10 / one_second)};
}
using Tenths = std::pair<Count, Count>;

}  // namespace

TEST_CASE("a single user waits for the prompt's pass and then for one pass per token", "[serve]") {
  const ServerRun run = serve({}, even_times(), alike(3, 1, 10, 5));
  CHECK(tenths(run.answers[0]) == Tenths{20, 60});  // a pass of 1 s + 10 x 0.1 s, and four of 1 s
  CHECK(tenths(run.answers[1]) == Tenths{80, 120});
  CHECK(run.end == 18 * one_second);
  CHECK(run.tokens == 15);
  CHECK(run.prompt_tokens == 30);
  CHECK(run.passes == 15);
}

TEST_CASE("prompts that arrive together share a pass", "[serve]") {
  const ServerRun run = serve({}, even_times(), alike(2, 2, 10, 3));
  CHECK(tenths(run.answers[0]) == Tenths{30, 50});  // 1 s + 20 x 0.1 s
  CHECK(tenths(run.answers[1]) == Tenths{30, 50});
}

TEST_CASE("a token budget splits prompts over passes, and sequences in progress come first", "[serve]") {
  // 8 tokens; then 2 + 6; then a decoding token and 4. The first prompt ends at 1.8 + 1.8, the second 1.4 s later.
  const ServerRun run = serve(with({.pass_tokens = 8, .sequences = 8}), even_times(), alike(2, 2, 10, 2));
  CHECK(tenths(run.answers[0]) == Tenths{36, 50});
  CHECK(tenths(run.answers[1]) == Tenths{50, 60});
}

TEST_CASE("if prompts are scheduled first, decoding waits for the pass of a prompt", "[serve]") {
  const SchedulerRules first{.pass_tokens = 10, .sequences = 10, .batching = Batching::prompts_first};
  const ServerRun run = serve(with(first), even_times(), alike(2, 2, 10, 4));
  CHECK(tenths(run.answers[0]) == Tenths{20, 70});
  CHECK(tenths(run.answers[1]) == Tenths{40, 70});
}

TEST_CASE("a fixed batch begins after the previous batch has ended", "[serve]") {
  RequestTraffic t = alike(3, 3, 10, 5);
  t.requests.set(0, request(10, 2));
  const SchedulerRules fixed{.sequences = 2, .batching = Batching::fixed};
  const ServerRun run = serve(with(fixed), even_times(), t);
  CHECK(tenths(run.answers[0]) == Tenths{30, 40});
  CHECK(tenths(run.answers[1]) == Tenths{30, 70});
  CHECK(tenths(run.answers[2]) == Tenths{90, 130});
}

TEST_CASE("the number of sequences in progress stays within its limit", "[serve]") {
  Count most = 0;
  const ServerWatch watch{.pass = [&](const PassRecord& r) { most = std::max(most, r.in_progress); }};
  serve(with({.sequences = 4}), even_times(), alike(20, 10, 10, 7), watch);
  CHECK(most == 4);
}

TEST_CASE("if cache blocks run out, the newest sequence is preempted and recomputed", "[serve]") {
  // Blocks of 4 tokens, 5 in total. Both prompts use 2, and the first request uses the last block for its second token.
  // The second request needs a third block for its third token: as the newest request it is preempted, and it resumes
  // when the first is done.
  const SchedulerRules rules{.block_tokens = 4, .blocks = 5};
  RequestTraffic t = alike(2, 2, 8, 8);
  t.requests.set(1, request(7, 8));
  const ServerRun run = serve(with(rules), even_times(), t);
  CHECK(run.answers[0].preemptions == 0);
  CHECK(run.answers[1].preemptions == 1);
  CHECK(run.tokens == 16);
  CHECK(run.most_blocks == 5);
  CHECK(run.answers[1].last > run.answers[0].last);
}

TEST_CASE("a prompt that fills the cache is served when all of it is cached", "[serve]") {
  // 10 blocks of 16 tokens. The second prompt reuses 9, because its last token must be computed, and frees the tenth.
  RequestTraffic t;
  for (const double at : {0.0, 100.0}) {
    ServerRequest r = request(160, 1, Seconds(at));
    r.prefix = 0;
    r.prefix_tokens = 160;
    t.requests.push_back(r);
  }
  const ServerRun run = serve(with({.block_tokens = 16, .blocks = 10, .prefix_cache = true}), even_times(), t);
  CHECK(run.answers[1].cached == 144);
  CHECK(tenths(run.answers[1]) == Tenths{1026, 1026});  // 1 s and 16 tokens
}

TEST_CASE("a request for one token ends with the pass of its prompt", "[serve]") {
  const ServerRun run = serve({}, even_times(), alike(4, 2, 10, 1));
  CHECK(run.tokens == 4);
  CHECK(run.end == 6 * one_second);
}

TEST_CASE("a request that arrives during a pass waits for its end", "[serve]") {
  RequestTraffic t{.requests = {request(10, 9), request(10, 1, Seconds(4.5))}};
  const ServerRun run = serve({}, even_times(), t);
  CHECK(tenths(run.answers[1]) == Tenths{70, 70});  // begins at 5 s
  CHECK(tenths(run.answers[0]) == Tenths{20, 110});
}

TEST_CASE("an engine that polls looks at new requests after a number of decode passes, or after a prompt", "[serve]") {
  // The first request's prompt ends at 2 s, its decode passes at 3, 4, ... s. The second request arrives at 2.5 s; the
  // engine looks after 4 decode passes, at 6 s. The third arrives while the second's prompt is processed.
  const SchedulerRules polls{.poll_passes = 4, .batching = Batching::prompts_first};
  RequestTraffic t{.requests = {request(10, 9), request(10, 1, Seconds(2.5)), request(10, 1, Seconds(7))}};
  const ServerRun run = serve(with(polls), even_times(), t);
  CHECK(tenths(run.answers[1]) == Tenths{80, 80});
  CHECK(tenths(run.answers[2]) == Tenths{100, 100});
}

TEST_CASE("a request that reaches an idle engine is not delayed by polling", "[serve]") {
  RequestTraffic t{.requests = {request(10, 1), request(10, 1, Seconds(2.5))}};
  const ServerRun run = serve(with({.poll_passes = 100}), even_times(), t);
  CHECK(tenths(run.answers[1]) == Tenths{45, 45});
}

TEST_CASE("the first requests of users who start together are held back", "[serve]") {
  RequestTraffic t = alike(4, 2, 10, 3);
  t.start = ClientStart::together;
  hold_first_wave(t, Seconds(5));
  const ServerRun run = serve({}, even_times(), t);
  CHECK(tenths(run.answers[0]) == Tenths{80, 100});  // sent at 0, received at 5 s, a pass of 1 s + 20 x 0.1 s
  CHECK(run.answers[0].sent == 0);
  CHECK(run.answers[2].sent == 10 * one_second);
  CHECK(tenths(run.answers[2]) == Tenths{130, 150});
}

TEST_CASE("per-request overhead does not delay other requests", "[serve]") {
  PassTimes times = even_times();
  times.request = one_second / 2;
  RequestTraffic t{.requests = {request(10, 3), request(10, 3)}};
  const ServerRun run = serve({}, times, t);
  CHECK(tenths(run.answers[0]) == Tenths{35, 55});
  CHECK(tenths(run.answers[1]) == Tenths{35, 55});
}
