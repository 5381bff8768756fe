#include "learn/sampling.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "model/random.hpp"
#include "tests/catch.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

const float inf = std::numeric_limits<float>::infinity();

/// Logits whose softmax gives these probabilities.
std::vector<float> logits_of(std::initializer_list<double> probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

std::vector<std::int32_t> tokens(const std::vector<TokenCandidate>& set) {
  std::vector<std::int32_t> all;
  for (const TokenCandidate& c : set) all.push_back(c.token);
  return all;
}

using Tokens = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("greedy decoding selects the likeliest token, and the lowest token ID on ties", "[sampling]") {
  CHECK(greedy(std::vector<float>{1, 3, 2}) == 1);
  CHECK(greedy(std::vector<float>{1, 3, 3}) == 1);
  CHECK(greedy(std::vector<float>{-inf, -5, -inf}) == 1);
  CHECK(candidates(std::vector<float>{1, 3, 3}, {.temperature = 0}).front().token == 1);
  CHECK(sample(std::vector<float>{1, 3, 3}, {.temperature = 0}, 0.999) == 1);
}

TEST_CASE("temperature divides the logits", "[sampling]") {
  const auto logits = logits_of({0.5, 0.25, 0.125, 0.125});
  const auto half = candidates(logits, {.temperature = 0.5});  // squares: 16, 4, 1, 1 over 22
  REQUIRE(tokens(half) == Tokens{0, 1, 2, 3});
  CHECK(half[0].probability == Approx(16.0 / 22));
  CHECK(half[1].probability == Approx(4.0 / 22));
  CHECK(half[3].probability == Approx(1.0 / 22));
  const auto one = candidates(logits, {});
  CHECK(one[0].probability == Approx(0.5));
  CHECK(one[3].probability == Approx(0.125));
  CHECK(sample(logits, {.temperature = 1e-300}, 0.999) == 0);
}

TEST_CASE("top-k keeps the k likeliest tokens, and the lowest token IDs on ties", "[sampling]") {
  const auto logits = logits_of({0.125, 0.5, 0.25, 0.125});
  const auto two = candidates(logits, {.top_k = 2});
  REQUIRE(tokens(two) == Tokens{1, 2});
  CHECK(two[0].probability == Approx(2.0 / 3));
  CHECK(two[1].probability == Approx(1.0 / 3));
  CHECK(tokens(candidates(logits, {.top_k = 3})) == Tokens{0, 1, 2});
  CHECK(tokens(candidates(logits, {.top_k = 1})) == Tokens{1});
  CHECK(tokens(candidates(logits, {.top_k = 9})) == Tokens{0, 1, 2, 3});
}

TEST_CASE("the nucleus is the smallest set of likeliest tokens that reaches top-p", "[sampling]") {
  const auto logits = logits_of({0.1, 0.4, 0.3, 0.2});
  CHECK(tokens(candidates(logits, {.top_p = 0.3})) == Tokens{1});
  CHECK(tokens(candidates(logits, {.top_p = 0.41})) == Tokens{1, 2});
  CHECK(tokens(candidates(logits, {.top_p = 0.71})) == Tokens{1, 2, 3});
  CHECK(tokens(candidates(logits, {.top_p = 0.95})) == Tokens{0, 1, 2, 3});
  CHECK(tokens(candidates(logits, {.top_p = 1})) == Tokens{0, 1, 2, 3});
  CHECK(tokens(candidates(logits, {.top_p = 1e-300})) == Tokens{1});
  CHECK(candidates(logits, {.top_p = 0.41})[0].probability == Approx(4.0 / 7));
  CHECK(tokens(candidates(std::vector<float>{1, 1, 1, 1}, {.top_p = 0.5})) == Tokens{0, 1});
  // After top-k: 4/7 and 3/7 of the remaining probability.
  CHECK(tokens(candidates(logits, {.top_k = 2, .top_p = 0.5})) == Tokens{1});
}

TEST_CASE("a uniform number selects the token whose interval contains it", "[sampling]") {
  const auto logits = logits_of({0.25, 0.5, 0.25});
  CHECK(sample(logits, {}, 0.0) == 0);
  CHECK(sample(logits, {}, 0.24) == 0);
  CHECK(sample(logits, {}, 0.26) == 1);
  CHECK(sample(logits, {}, 0.74) == 1);
  CHECK(sample(logits, {}, 0.76) == 2);
  CHECK(sample(logits, {}, 1 - 0x1p-53) == 2);
  CHECK(sample(std::vector<float>{0, 0}, {}, 0.5) == 1);  // a boundary value selects the next token
  CHECK(sample(std::vector<float>{-inf, 0, -inf}, {}, 0.0) == 1);
  CHECK(sample(std::vector<float>{0, -inf}, {}, 1 - 0x1p-53) == 0);
  CHECK(sample(std::vector<float>{0, -1e30f}, {}, 1 - 0x1p-53) == 0);
}

TEST_CASE("sampling frequencies match the probabilities", "[sampling]") {
  const auto logits = logits_of({0.2, 0.1, 0.7});
  const int n = 20000;
  std::array<int, 3> seen{};
  for (std::uint64_t i = 0; i < n; ++i)
    ++seen[static_cast<std::size_t>(sample(logits, {}, uniform<double>(random_key(1), random_counter(i))))];
  CHECK(seen[0] == Approx(0.2 * n).margin(5 * std::sqrt(n * 0.16)));
  CHECK(seen[1] == Approx(0.1 * n).margin(5 * std::sqrt(n * 0.09)));
  CHECK(seen[2] == Approx(0.7 * n).margin(5 * std::sqrt(n * 0.21)));
}

TEST_CASE("log-softmax does not overflow for large logits", "[sampling]") {
  const auto logs = log_softmax(std::vector<float>{1e30f, 1e30f, -1e30f});
  CHECK(logs[0] == Approx(std::log(0.5)));
  CHECK(logs[2] == Approx(-2e30));
  CHECK(log_softmax(std::vector<float>{0, -inf})[1] == -std::numeric_limits<double>::infinity());
}

TEST_CASE("the error for logits that are not finite names the token", "[sampling]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH(greedy(std::vector<float>{0, nan}),
                    "the logit of token 1 is nan; the weights have diverged or are damaged");
  CHECK_THROWS_AS(sample(std::vector<float>{0, nan}, {}, 0.5), InputError);
  CHECK_THROWS_AS(sample(std::vector<float>{0, nan}, {.temperature = 0}, 0.5), InputError);
  CHECK_THROWS_AS(sample(std::vector<float>{0, inf}, {}, 0.5), InputError);
  CHECK_THROWS_AS(greedy(std::vector<float>{-inf, -inf}), InputError);
  CHECK_THROWS_AS(greedy({}), InputError);
  CHECK_THROWS_AS(log_softmax(std::vector<float>{nan}), InputError);
}

TEST_CASE("sampling options out of range are rejected", "[sampling]") {
  const std::vector<float> logits{0, 1};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(candidates(logits, {.temperature = -1}),
                    "temperature -1 is out of range; set it to 0 (greedy) or a positive number");
  CHECK_THROWS_AS(candidates(logits, {.temperature = nan}), InputError);
  CHECK_THROWS_AS(candidates(logits, {.top_k = -1}), InputError);
  CHECK_THROWS_AS(candidates(logits, {.top_p = 0}), InputError);
  CHECK_THROWS_AS(candidates(logits, {.top_p = 1.5}), InputError);
  CHECK_THROWS_AS(candidates(logits, {.top_p = nan}), InputError);
}
