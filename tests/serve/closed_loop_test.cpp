// A server's loop, by hand.

#include "serve/closed_loop.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

/// A step of 1 s, whatever it holds; a token of a prompt adds 0.1 s.
PassSeconds even_passes() {
  return {.step = [](Count) { return Seconds(1); }, .prompt_token = Seconds(0.1)};
}
std::vector<RequestLengths> alike(std::size_t n, Count prompt, Count generate) {
  return std::vector<RequestLengths>(n, {prompt, generate});
}

}  // namespace

TEST_CASE("A client alone waits for its prompt, then for a step per token", "[closed-loop]") {
  const ServedMeans s = serve_closed_loop(alike(3, 10, 5), 1, {}, even_passes());
  CHECK(s.first_token.value == Approx(2));  // a pass of 1 s + 10 x 0.1 s
  CHECK(s.per_token.value == Approx(1));
  CHECK(s.request.value == Approx(6));
  CHECK(s.all.value == Approx(18));
  CHECK(s.tokens == 15);
}

TEST_CASE("Prompts that come together share a pass", "[closed-loop]") {
  const ServedMeans s = serve_closed_loop(alike(2, 10, 3), 2, {}, even_passes());
  CHECK(s.first_token.value == Approx(3));  // 1 s + 20 x 0.1 s
  CHECK(s.per_token.value == Approx(1));
  CHECK(s.all.value == Approx(5));
}

TEST_CASE("A budget of tokens divides prompts over passes, first come first", "[closed-loop]") {
  // 8 tokens; then 2 + 6; then 4 beside one that decodes. The first ends at 1.8 + 1.8, the second a pass of 1.4 later.
  const ServedMeans s = serve_closed_loop(alike(2, 10, 2), 2, {.pass_tokens = 8}, even_passes());
  CHECK(s.first_token.value == Approx((3.6 + 5.0) / 2));
  CHECK(s.per_token.value == Approx((1.4 + 1.0) / 2));
  CHECK(s.all.value == Approx(6));
}

TEST_CASE("Prompts first: decoding waits as long as a prompt does", "[closed-loop]") {
  const ServerRules first{.pass_tokens = 10, .prompts_first = true}, beside{.pass_tokens = 11};
  const ServedMeans alone = serve_closed_loop(alike(2, 10, 4), 2, first, even_passes());
  CHECK(alone.first_token.value == Approx((2.0 + 4.0) / 2));
  CHECK(alone.per_token.value == Approx(((4.0 - 2.0 + 3.0) / 3 + 1.0) / 2));
  const ServedMeans mixed = serve_closed_loop(alike(2, 10, 4), 2, beside, even_passes());
  CHECK(mixed.per_token < alone.per_token);
  CHECK(mixed.all.value == Approx(alone.all.value));
}

TEST_CASE("A cache that holds one request makes the others wait", "[closed-loop]") {
  const ServedMeans s = serve_closed_loop(alike(2, 10, 5), 2, {.cache_tokens = 20}, even_passes());
  CHECK(s.all.value == Approx(12));
  CHECK(s.first_token.value == Approx((2.0 + 8.0) / 2));
  CHECK(s.per_token.value == Approx(1));
}

TEST_CASE("A request that is larger than the cache is served alone", "[closed-loop]") {
  const ServedMeans s = serve_closed_loop(alike(2, 10, 5), 2, {.cache_tokens = 3}, even_passes());
  CHECK(s.all.value == Approx(12));
}

TEST_CASE("No more sequences than the rules allow are in progress", "[closed-loop]") {
  Count most = 0;
  const PassSeconds passes{.step = [&](Count n) { return most = std::max(most, n), Seconds(1); },
                           .prompt_token = Seconds(0.1)};
  serve_closed_loop(alike(20, 10, 7), 10, {.sequences = 4}, passes);
  CHECK(most == 4);
}

TEST_CASE("Time of a request besides passes is waited for by nobody else", "[closed-loop]") {
  PassSeconds passes = even_passes();
  const ServedMeans without = serve_closed_loop(alike(4, 10, 3), 2, {}, passes);
  passes.request = Seconds(0.5);
  const ServedMeans with = serve_closed_loop(alike(4, 10, 3), 2, {}, passes);
  CHECK(with.first_token.value == Approx(without.first_token.value + 0.5));
  CHECK(with.request.value == Approx(without.request.value + 0.5));
  CHECK(with.per_token == without.per_token);
}

TEST_CASE("A request of one token ends with its prompt", "[closed-loop]") {
  const ServedMeans s = serve_closed_loop(alike(4, 10, 1), 2, {}, even_passes());
  CHECK(s.per_token.value == 0);
  CHECK(s.tokens == 4);
  CHECK(s.all.value == Approx(6));
}
