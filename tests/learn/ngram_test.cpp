#include "learn/ngram.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {
using Tokens = std::vector<std::int32_t>;
}

TEST_CASE("the unigram model follows Witten and Bell's formula", "[ngram]") {
  const Tokens tokens{0, 0, 1};  // N = 3, T = 2, V = 4
  const Unigram model(tokens, 4);
  CHECK(model.probability(0) == Approx(2.5 / 5));
  CHECK(model.probability(1) == Approx(1.5 / 5));
  CHECK(model.probability(2) == Approx(0.5 / 5));
  CHECK(model.probability(3) == Approx(0.5 / 5));
  CHECK(perplexity(model, Tokens{3, 0, 2}) == Approx(std::sqrt(2.0 * 10.0)));
}

TEST_CASE("the bigram model follows Kneser and Ney's formula", "[ngram]") {
  // Pairs: 01 twice, 10 twice, 02 once. D = 1/(1 + 2 x 2) = 0.2. Every token but 3 has one predecessor, so D' = 1/2 and
  // q = (1 - 0.5)/3 + 0.5 x 3/3/4 = 7/24 for 0, 1, 2, and 1/8 for 3.
  const Bigram model(Tokens{0, 1, 0, 1, 0, 2}, 4);
  CHECK(model.probability(0, 1) == Approx((2 - 0.2) / 3 + 0.2 * 2 / 3 * 7 / 24));
  CHECK(model.probability(0, 2) == Approx((1 - 0.2) / 3 + 0.2 * 2 / 3 * 7 / 24));
  CHECK(model.probability(0, 3) == Approx(1.0 / 60));
  CHECK(model.probability(1, 0) == Approx((2 - 0.2) / 2 + 0.2 * 1 / 2 * 7 / 24));
  CHECK(model.probability(2, 0) == Approx(7.0 / 24));  // no pair begins with 2
  CHECK(model.probability(3, 3) == Approx(1.0 / 8));
  CHECK(perplexity(model, Tokens{0, 3}) == Approx(60));
  CHECK(perplexity(model, Tokens{0, 2}, Tokens{3, 3}) == Approx(std::sqrt(60.0 * 8.0)));
}

TEST_CASE("n-gram probabilities are positive and sum to 1 after every token", "[ngram]") {
  Tokens tokens;
  for (int i = 0; i < 200; ++i) tokens.push_back((i * i + i / 7) % 11);
  const Count vocabulary = 13;
  const Unigram unigram(tokens, vocabulary);
  const Bigram bigram(tokens, vocabulary);
  double sum = 0;
  for (std::int32_t w = 0; w < vocabulary; ++w) sum += unigram.probability(w);
  CHECK(sum == Approx(1).epsilon(1e-12));
  for (std::int32_t v = 0; v < vocabulary; ++v) {
    sum = 0;
    for (std::int32_t w = 0; w < vocabulary; ++w) {
      CHECK(bigram.probability(v, w) > 0);
      sum += bigram.probability(v, w);
    }
    CHECK(sum == Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("an n-gram model without training tokens gives every token the same probability", "[ngram]") {
  CHECK(Unigram({}, 5).probability(4) == Approx(0.2));
  CHECK(Bigram({}, 5).probability(0, 4) == Approx(0.2));
  CHECK(Bigram(Tokens{3}, 5).probability(3, 4) == Approx(0.2));
}

TEST_CASE("the bigram model beats the unigram model on text with a fixed token order", "[ngram]") {
  Tokens tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(tokens.end(), {0, 1, 2, 3});
  CHECK(perplexity(Unigram(tokens, 4), tokens) == Approx(4).epsilon(0.02));
  CHECK(perplexity(Bigram(tokens, 4), tokens) < 1.1);
}

TEST_CASE("an n-gram model rejects a token outside the vocabulary", "[ngram]") {
  CHECK_THROWS_WITH(Unigram(Tokens{0, 4}, 4),
                    "token 4 is not in the vocabulary of 4; the text was encoded with a different tokenizer");
  CHECK_THROWS_AS(Bigram(Tokens{-1}, 4), InputError);
  CHECK_THROWS_AS(Bigram(Tokens{0}, 0), InputError);
  const Bigram model(Tokens{0, 1}, 4);
  CHECK_THROWS_AS(model.probability(4, 0), InputError);
  CHECK_THROWS_AS(perplexity(model, Tokens{0, 4}), InputError);
  CHECK_THROWS_WITH(perplexity(model, Tokens{0}),
                    "there is no token to predict; perplexity requires a text of at least two tokens");
  CHECK_THROWS_AS(perplexity(model, Tokens{}), InputError);
  CHECK_THROWS_AS(perplexity(model, Tokens{0}, Tokens{0, 1}), InputError);
}
