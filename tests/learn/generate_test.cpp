#include "learn/generate.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/models/encoders.hpp"
#include "tests/models/tiny.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// A model with random weights, scaled so that no two logits tie.
struct Random {
  std::unique_ptr<Backend> cpu = make_cpu(Number::f32);
  Transformer t;
  Random(const Arch& arch, const Plan& plan) : t(arch, *cpu, {.plan = plan}, 7) { test::scramble(t, 11); }
};

const std::vector<std::int32_t> prompt{3, 1, 4};

std::vector<std::int32_t> tokens(Transformer& t, const GenerateOptions& o) { return generate(t, prompt, o).tokens; }

std::string sentence(Transformer& t, std::span<const std::int32_t> text, const GenerateOptions& o) {
  try {
    generate(t, text, o);
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was rejected";
}

}  // namespace

TEST_CASE("greedy and sampled tokens are the same with and without a cache, in every variant", "[generate]") {
  for (test::Variant v : test::generating_variants()) {
    INFO(v.name);
    v.plan.kv_precision = v.plan.precision = dtypes::fp32;
    v.plan.weight_precision = v.plan.precision;
    Random m(v.arch, v.plan);
    for (const double temperature : {0.0, 1.0}) {
      GenerateOptions o{.tokens = 5, .sampling = {.temperature = temperature}};
      const auto cached = tokens(m.t, o);
      o.cache = false;
      CHECK(cached.size() == 5);
      CHECK(tokens(m.t, o) == cached);
    }
  }
}

TEST_CASE("at temperature 0 each token has the largest logit given all previous tokens", "[generate]") {
  Random m(test::tiny_llama(), test::tiny_plan());
  std::vector<std::int64_t> text(prompt.begin(), prompt.end());
  for (const std::int32_t token : tokens(m.t, {.tokens = 6, .sampling = {.temperature = 0}})) {
    const std::vector<double> logits = m.t.logits(text, 1, 0, nullptr);
    CHECK(token == std::max_element(logits.begin(), logits.end()) - logits.begin());
    text.push_back(token);
  }
}

TEST_CASE("token i is sampled with random number i of the seed's stream", "[generate]") {
  Random m(test::tiny_llama(), test::tiny_plan());
  const GenerateOptions one{.tokens = 8, .seed = 1}, two{.tokens = 8, .seed = 2}, few{.tokens = 3, .seed = 1};
  const auto all = tokens(m.t, one);
  CHECK(tokens(m.t, one) == all);
  CHECK(tokens(m.t, two) != all);
  CHECK(tokens(m.t, few) == std::vector<std::int32_t>(all.begin(), all.begin() + 3));
}

TEST_CASE("every token is reported as soon as it is generated", "[generate]") {
  Random m(test::tiny_gpt(), test::tiny_plan());
  std::vector<std::int32_t> told;
  const Generated g = generate(m.t, prompt, {.tokens = 4}, [&](std::int32_t t) { told.push_back(t); });
  CHECK(told == g.tokens);
  CHECK(g.ended == Ended::length);
  CHECK(generate(m.t, prompt, {.tokens = 0}).tokens.empty());
}

TEST_CASE("generation ends at the end token and excludes it", "[generate]") {
  Random m(test::tiny_llama(), test::tiny_plan());
  const GenerateOptions greedy{.tokens = 6, .sampling = {.temperature = 0}};
  const auto all = tokens(m.t, greedy);
  GenerateOptions o = greedy;
  o.ends = {all[3]};
  const Generated g = generate(m.t, prompt, o);
  const auto first = std::find(all.begin(), all.end(), all[3]);
  CHECK(g.tokens == std::vector<std::int32_t>(all.begin(), first));
  CHECK(g.ended == Ended::end_of_text);
}

TEST_CASE("generation ends at the last learned position", "[generate]") {
  Random m(test::tiny_gpt(), test::tiny_plan());  // 8 positions
  const Generated g = generate(m.t, prompt, {.tokens = 100});
  CHECK(g.ended == Ended::positions);
  CHECK(g.tokens.size() == 6);  // tokens 4 to 9; the last is generated but never read
  CHECK(generate(m.t, prompt, {.tokens = 6}).ended == Ended::length);
  const std::vector<std::int32_t> nine(9, 1);
  CHECK(sentence(m.t, nine, {}) ==
        "the prompt has 9 tokens but the model has 8 learned positions; pass a shorter prompt");
}

TEST_CASE("beam search finds the same sequence with and without a cache", "[generate]") {
  for (test::Variant v : test::generating_variants()) {
    INFO(v.name);
    v.plan.kv_precision = v.plan.precision = dtypes::fp32;
    v.plan.weight_precision = v.plan.precision;
    Random m(v.arch, v.plan);
    const Generated with = generate(m.t, prompt, {.tokens = 4, .beams = 3});
    const Generated without = generate(m.t, prompt, {.tokens = 4, .beams = 3, .cache = false});
    CHECK(with.tokens == without.tokens);
    CHECK(std::abs(with.log_probability - without.log_probability) < 1e-4);
  }
}

TEST_CASE("more beams never find a less likely sequence", "[generate]") {
  Random m(test::tiny_llama(), test::tiny_plan());
  const auto found = [&](Count beams) { return generate(m.t, prompt, {.tokens = 3, .beams = beams}).log_probability; };
  const double exhaustive = found(17 * 17);  // vocabulary^(length - 1)
  CHECK(found(2) <= exhaustive);
  CHECK(found(8) <= exhaustive);
  CHECK(found(8) >= found(2));
}

TEST_CASE("a stop request ends generation between two operators and keeps the tokens so far", "[generate]") {
  Random m(test::tiny_llama(), test::tiny_plan());
  std::atomic<bool> stop = false;
  GenerateOptions o{.tokens = 10, .sampling = {.temperature = 0}, .stop = &stop};
  const Generated g = generate(m.t, prompt, o, [&](std::int32_t) { stop = true; });
  CHECK(g.ended == Ended::stopped);
  CHECK(g.tokens.size() == 1);
  stop = false;
  CHECK(tokens(m.t, o).size() == 10);
}

TEST_CASE("a stopped beam search returns the best sequence so far", "[generate]") {
  Random m(test::tiny_llama(), test::tiny_plan());
  std::atomic<bool> stop = false;
  GenerateOptions o{.tokens = 10, .beams = 3, .stop = &stop};
  o.searching = [&](Count done, Count most) {
    CHECK(most == 1 + 9 * 3);
    stop = done == 4;  // one empty text, three of one token, and the first of two
  };
  Count shown = 0;
  const Generated g = generate(m.t, prompt, o, [&](std::int32_t) { ++shown; });
  CHECK(g.ended == Ended::stopped);
  CHECK(g.tokens == generate(m.t, prompt, {.tokens = 2, .beams = 3}).tokens);
  CHECK(shown == 2);
}

TEST_CASE("invalid generation options are rejected with an error message", "[generate]") {
  Random m(test::tiny_llama(), test::tiny_plan());
  CHECK(sentence(m.t, {}, {}) == "the prompt has no tokens; pass a text of at least one character");
  const std::vector<std::int32_t> foreign{1, 17};
  CHECK(sentence(m.t, foreign, {}) == "token 17 of the prompt is not in the model's vocabulary of 17");
  CHECK(sentence(m.t, prompt, {.tokens = -1}) == "-1 tokens is out of range; pass 0 or more");
  CHECK(sentence(m.t, prompt, {.beams = 0}) == "0 beams is out of range; pass 1 or more");
  CHECK(sentence(m.t, prompt, {.sampling = {.temperature = -1}}) ==
        "temperature -1 is out of range; set it to 0 (greedy) or a positive number");
}

TEST_CASE("only decoder-only models generate text", "[generate]") {
  Random encoder(test::tiny_bert(), {}), both(test::tiny_t5(), {});
  CHECK(sentence(encoder.t, prompt, {}) ==
        "the model attends to later tokens and cannot continue a text; pass a decoder");
  CHECK(sentence(both.t, prompt, {}) ==
        "the model is an encoder-decoder and cannot continue a text; pass a decoder-only model");
}

TEST_CASE("generation reports NaN logits", "[generate]") {
  Random m(test::tiny_llama(), test::tiny_plan());
  Parameter& norm = m.t.weights().at(-1, "head.norm.weight");
  m.t.weights().set(norm, std::vector<double>(static_cast<std::size_t>(norm.elements()), NAN));
  CHECK(sentence(m.t, prompt, {.tokens = 2}).find("logits are not finite") != std::string::npos);
}
