#include "learn/beam.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "learn/sampling.hpp"
#include "model/random.hpp"
#include "tests/catch.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::int32_t vocabulary = 4;

/// Log-probabilities that depend on every token of the prefix.
std::vector<float> any_model(std::span<const std::int32_t> prefix) {
  std::uint64_t seed = 1;
  for (const std::int32_t t : prefix) seed = seed * 31 + static_cast<std::uint64_t>(t) + 1;
  std::vector<float> logits;
  for (std::uint64_t i = 0; i < vocabulary; ++i)
    logits.push_back(4 * uniform<float>(random_key(seed), random_counter(i)));
  std::vector<float> logs;
  for (const double l : log_softmax(logits)) logs.push_back(static_cast<float>(l));
  return logs;
}

/// Appends every sequence of `length` tokens, and every shorter one that ends with the end token.
void extend(const Tokens& prompt, const Sequence& s, const BeamOptions& o, std::vector<Sequence>& all) {
  const bool complete = !o.ends.empty() && !s.tokens.empty() && s.tokens.back() == o.ends[0];
  if (complete || static_cast<Count>(s.tokens.size()) == o.length) return all.push_back(s);
  Tokens prefix = prompt;
  prefix.insert(prefix.end(), s.tokens.begin(), s.tokens.end());
  const auto logs = any_model(prefix);
  for (std::int32_t t = 0; t < vocabulary; ++t) {
    Sequence next = s;
    next.tokens.push_back(t);
    next.log_probability += static_cast<double>(logs[static_cast<std::size_t>(t)]);
    extend(prompt, next, o, all);
  }
}

std::vector<Sequence> exhaustive(const Tokens& prompt, const BeamOptions& o) {
  std::vector<Sequence> all;
  extend(prompt, {}, o, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Sequence& a, const Sequence& b) { return a.log_probability > b.log_probability; });
  return all;
}

void check_equal(const std::vector<Sequence>& found, const std::vector<Sequence>& wanted) {
  REQUIRE(found.size() <= wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].tokens == wanted[i].tokens);
    CHECK(found[i].log_probability == wanted[i].log_probability);
  }
}

}  // namespace

TEST_CASE("a sufficiently wide beam search is exhaustive", "[beam]") {
  for (const std::int32_t first : {0, 1, 2, 3}) {
    const BeamOptions options{.width = 64, .length = 4};  // 4^3 prefixes
    const auto found = beam_search(any_model, Tokens{first}, options);
    CHECK(found.size() == 64);
    check_equal(found, exhaustive({first}, options));
  }
}

TEST_CASE("a sufficiently wide beam search with an end token is exhaustive over all lengths", "[beam]") {
  for (const std::int32_t end : {0, 2}) {
    const BeamOptions options{.width = 200, .length = 4, .ends = {end}};
    const auto wanted = exhaustive({1}, options);
    CHECK(wanted.size() == 1 + 3 + 9 + 27 * 4);
    const auto found = beam_search(any_model, Tokens{1}, options);
    CHECK(found.size() == wanted.size());
    check_equal(found, wanted);
  }
}

TEST_CASE("a beam search of width 1 is greedy", "[beam]") {
  for (const std::int32_t first : {0, 1, 2, 3}) {
    Tokens prefix{first};
    double sum = 0;
    for (int i = 0; i < 6; ++i) {
      const auto logs = any_model(prefix);
      prefix.push_back(greedy(logs));
      sum += static_cast<double>(logs[static_cast<std::size_t>(prefix.back())]);
    }
    const auto found = beam_search(any_model, Tokens{first}, {.width = 1, .length = 6});
    REQUIRE(found.size() == 1);
    CHECK(found[0].tokens == Tokens(prefix.begin() + 1, prefix.end()));
    CHECK(found[0].log_probability == sum);
  }
}

TEST_CASE("beam search finds a sequence that greedy search misses", "[beam]") {
  // Token 0 is likelier first (0.6) but leads to 0.6 x 0.5; token 1 leads to 0.4 x 1.
  const auto model = [](std::span<const std::int32_t> prefix) -> std::vector<float> {
    if (prefix.empty()) return {std::log(0.6f), std::log(0.4f)};
    if (prefix[0] == 0) return {std::log(0.5f), std::log(0.5f)};
    return {0.0f, -std::numeric_limits<float>::infinity()};
  };
  const auto found = beam_search(model, {}, {.width = 2, .length = 2});
  REQUIRE(found.size() == 2);
  CHECK(found[0].tokens == Tokens{1, 0});
  CHECK(found[0].log_probability == Approx(std::log(0.4)));
  CHECK(found[1].tokens == Tokens{0, 0});  // 00 and 01 are equally probable, so the lower one comes first
  CHECK(beam_search(model, {}, {.width = 1, .length = 2})[0].tokens == Tokens{0, 0});
}

TEST_CASE("equally probable sequences are ordered by their token IDs", "[beam]") {
  const auto even = [](std::span<const std::int32_t>) { return std::vector<float>{-1, -1}; };
  const auto found = beam_search(even, {}, {.width = 4, .length = 2});
  REQUIRE(found.size() == 4);
  for (std::int32_t i = 0; i < 4; ++i) CHECK(found[static_cast<std::size_t>(i)].tokens == Tokens{i / 2, i % 2});
  CHECK(beam_search(even, {}, {.width = 2, .length = 3})[1].tokens == Tokens{0, 0, 1});
}

TEST_CASE("beam search ends when every sequence is complete", "[beam]") {
  int calls = 0;
  const auto model = [&calls](std::span<const std::int32_t>) -> std::vector<float> {
    ++calls;
    return {-std::numeric_limits<float>::infinity(), 0.0f};
  };
  const auto found = beam_search(model, Tokens{0}, {.width = 3, .length = 100, .ends = {1}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].tokens == Tokens{1});
  CHECK(calls == 1);
  CHECK(beam_search(model, Tokens{1}, {.width = 3, .length = 0, .ends = {1}}).front().tokens.empty());
}

TEST_CASE("beam search memory grows with beam width, length and vocabulary", "[beam]") {
  const auto memory = [](Count vocabulary, Count width, Count length) {
    return beam_memory(vocabulary, {.width = width, .length = length}).value;
  };
  CHECK(memory(10, 1000, 50) - memory(10, 0, 50) >= 1000 * 2 * 50 * 4);  // tokens of the old and of the new sequences
  CHECK(memory(10, 1000, 50) > memory(10, 1000, 49));
  CHECK(memory(1000, 10, 5) - memory(0, 10, 5) >= 1000 * (4 + 8));  // logits and log-probabilities
  CHECK_THROWS_AS(memory(10, Count{1} << 60, 50), Overflow);
}

TEST_CASE("beam search rejects NaN and options out of range", "[beam]") {
  const auto broken = [](std::span<const std::int32_t>) { return std::vector<float>{0, std::nanf("")}; };
  CHECK_THROWS_WITH(beam_search(broken, {}, {}),
                    "the log-probability of token 1 is nan; the weights have diverged or are damaged");
  const auto none = [](std::span<const std::int32_t>) {
    return std::vector<float>{-std::numeric_limits<float>::infinity()};
  };
  CHECK_THROWS_AS(beam_search(none, {}, {}), InputError);
  CHECK_THROWS_AS(beam_search(any_model, {}, {.width = 0, .length = 1}), InputError);
  CHECK_THROWS_AS(beam_search(any_model, {}, {.width = 1, .length = -1}), InputError);
}
