// Vocabularies padded by a training stack.

#include "calc/parallel/vocabulary.hpp"

#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

/// GPT-2's table at a small width.
Arch of_gpt2() {
  Arch a = even();
  a.vocabulary = 50257;
  a.tied_head = true;
  return a;
}
Plan short_plan() {
  Plan p;
  p.seq = 16;
  p.global_batch = 1;
  return p;
}

}  // namespace

// Megatron-LM's _vocab_size_with_padding: the smallest multiple of 128 T that holds 50,257 tokens.
TEST_CASE("a vocabulary is padded to a multiple per tensor-parallel rank", "[tensor][vocabulary]") {
  const auto rows = [](Count tp) { return padded_vocabulary(of_gpt2(), {.tp = tp, .vocabulary_multiple = 128}); };
  CHECK(rows(1) == 50304);
  CHECK(rows(2) == 50432);
  CHECK(rows(4) == 50688);
  CHECK(rows(8) == 51200);
  CHECK(padded_vocabulary(of_gpt2(), {.tp = 8}) == 50257);
}

TEST_CASE("a rank's padded rows add to its states, logits and work", "[tensor][vocabulary]") {
  const Arch a = of_gpt2();
  const Plan p = short_plan();
  for (const auto& [tp, rows] : {std::pair<Count, Count>{1, 50304}, {8, 51200 / 8}}) {
    const Layout bare{.tp = tp}, padded{.tp = tp, .vocabulary_multiple = 128};
    const Count more = rows - ceil_div(a.vocabulary, tp);
    const auto states = [&](const Layout& l) { return training_states(a, p, l); };
    CHECK(states(padded).parameters - states(bare).parameters == more * a.hidden);
    CHECK(states(padded).weights - states(bare).weights == Bytes(2 * more * a.hidden));
    const Prices with = price(a, p, padded, {}), without = price(a, p, bare, {});
    CHECK(with.head().logits == Bytes(4 * p.seq * rows));
    CHECK(with.head().forward.cost.executed - without.head().forward.cost.executed ==
          Flops(2 * p.seq * more * a.hidden));
    CHECK(with.whole.forward.total() == without.whole.forward.total());
    CHECK(with.layer(0).weights == without.layer(0).weights);
  }
}

TEST_CASE("padding applies only to training", "[tensor][vocabulary]") {
  const Arch a = of_gpt2();
  const Plan p = short_plan();
  CHECK(weights_bytes(a, p, {.tp = 8, .vocabulary_multiple = 128}) == weights_bytes(a, p, {.tp = 8}));
  Arch untied = a;
  untied.tied_head = false;
  CHECK(training_states(untied, p, {.vocabulary_multiple = 128}).parameters ==
        parameters(untied).total + 2 * (50304 - 50257) * a.hidden);
}
