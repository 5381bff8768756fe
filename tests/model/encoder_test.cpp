// Properties of encoders: every token attends to its whole sequence, and heads read the right tokens.

#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/models/encoders.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::identical;
using test::Numbers;

namespace {

/// The pooler's output for two sequences of 6 tokens.
Numbers pooled(Arch a, const std::vector<std::int64_t>& ids) {
  a.head = {.kind = HeadKind::none, .pooler = true};
  a.tied_head = a.head_bias = false;
  test::Run r({"", a, test::tiny_plan()}, Number::f64, true);
  return r.t.logits(ids, 2, 0, nullptr);
}

/// Calls check for every encoder-decoder variant.
template <typename F>
void each_encoder_decoder(const F& check) {
  for (const test::Variant& v : test::encoder_variants()) {
    if (!v.arch.is_encoder_decoder()) continue;
    INFO(v.name);
    check(v);
  }
}

/// Tokens [first, first + n) of each of two sequences of 6.
std::vector<std::int64_t> of_both(const std::vector<std::int64_t>& ids, std::size_t first, std::size_t n) {
  std::vector<std::int64_t> some;
  for (const std::size_t s : {std::size_t{0}, std::size_t{6}})
    for (std::size_t t = 0; t < n; ++t) some.push_back(ids[s + first + t]);
  return some;
}

std::vector<std::int64_t> twelve_tokens() { return test::tiny_batch(test::tiny_bert(), test::tiny_plan(), 3).ids; }

}  // namespace

TEST_CASE("in an encoder, a changed token changes all logits of its sequence and no others", "[encoder]") {
  for (const test::Variant& v : test::encoder_variants()) {
    if (!v.arch.is_encoder() || !v.arch.head.has_logits()) continue;
    INFO(v.name);
    std::vector<std::int64_t> ids = twelve_tokens();
    test::Run r(v, Number::f64, true);
    const Numbers before = r.t.all_logits(ids, 2);
    ids[5] = (ids[5] + 1) % v.arch.vocabulary;
    const Numbers after = r.t.all_logits(ids, 2);
    const std::span<const double> a(before), b(after);
    for (std::size_t t = 0; t < 6; ++t) CHECK_FALSE(identical(a.subspan(17 * t, 17), b.subspan(17 * t, 17)));
    CHECK(identical(a.subspan(6 * 17), b.subspan(6 * 17)));
  }
}

TEST_CASE("inference with an encoder gives the logits of each sequence's last token", "[encoder]") {
  const test::Variant v{"", test::tiny_bert(), test::tiny_plan()};
  test::Run r(v, Number::f64, true);
  const Numbers all = r.t.all_logits(twelve_tokens(), 2), last = r.t.logits(twelve_tokens(), 2, 0, nullptr);
  REQUIRE(last.size() == 2 * 17);
  const std::span<const double> a(all), b(last);
  CHECK(test::difference(b.first(17), a.subspan(5 * 17, 17)) < 1e-12);
  CHECK(test::difference(b.last(17), a.last(17)) < 1e-12);
}

TEST_CASE("the pooler outputs one row of tanh values per sequence", "[encoder]") {
  const Numbers y = pooled(test::tiny_bert(), twelve_tokens());
  REQUIRE(y.size() == 2 * 12);
  for (const double x : y) CHECK(std::abs(x) < 1);
}

TEST_CASE("the pooler reads only the first token of each sequence", "[encoder]") {
  Arch a = test::tiny_bert();  // its layers leave the residual stream unchanged
  LayerMixer none;
  none.layers = LayerSet::all(2);
  a.mixers.push(none);
  a.mixers[0].attention = AttentionKind::none;
  a.mixers[0].bidirectional = true;
  a.mlps.push({.width = 0, .layers = LayerSet::all(2)});
  const std::vector<std::int64_t> ids = twelve_tokens();
  std::vector<std::int64_t> changed = ids;
  changed[1] = changed[11] = (ids[1] + 1) % a.vocabulary;
  const Numbers before = pooled(a, ids);
  CHECK(identical(before, pooled(a, changed)));
  changed[6] = (ids[6] + 1) % a.vocabulary;
  const Numbers after = pooled(a, changed);
  const std::span<const double> x(before), y(after);
  CHECK(identical(x.first(12), y.first(12)));
  CHECK_FALSE(identical(x.last(12), y.last(12)));
}

TEST_CASE("decode steps with self- and cross-attention caches give the logits of a full pass", "[encoder]") {
  each_encoder_decoder([](test::Variant v) {
    v.plan.prompt = 6;
    const model::Batch b = test::tiny_batch(v.arch, v.plan, 3);
    for (const test::Kind& f : test::kinds) {
      INFO(f.name);
      test::Run r(v, f.number, true);
      const Numbers all = r.t.all_logits(b.ids, 2, b.targets);
      Cache cache = r.t.make_cache(2, 6 + 5);
      for (std::size_t t = 0; t < 6; ++t) {
        INFO("token " << t);
        const Numbers y = t == 0 ? r.t.logits(b.ids, 2, 0, &cache)
                                 : r.t.logits(of_both(b.targets, t - 1, 1), 2, static_cast<Count>(5 + t), &cache);
        const std::span<const double> made(y), known(all);
        REQUIRE(y.size() == 2 * 17);
        CHECK(test::difference(made.first(17), known.subspan(t * 17, 17)) < f.rounding);
        CHECK(test::difference(made.last(17), known.subspan((6 + t) * 17, 17)) < f.rounding);
      }
    }
  });
}

TEST_CASE("changing a source token changes all logits of its sequence, a target token only later ones", "[encoder]") {
  each_encoder_decoder([](const test::Variant& v) {
    model::Batch b = test::tiny_batch(v.arch, v.plan, 3);
    test::Run r(v, Number::f64, true);
    const Numbers before = r.t.all_logits(b.ids, 2, b.targets);
    const std::span<const double> a(before);
    std::vector<std::int64_t> text = b.ids, answer = b.targets;
    text[5] = (text[5] + 1) % v.arch.vocabulary;
    answer[2] = (answer[2] + 1) % v.arch.vocabulary;
    const Numbers other_text = r.t.all_logits(text, 2, b.targets), other_answer = r.t.all_logits(b.ids, 2, answer);
    const std::span<const double> x(other_text), y(other_answer);
    for (std::size_t t = 0; t < 6; ++t) CHECK_FALSE(identical(a.subspan(17 * t, 17), x.subspan(17 * t, 17)));
    CHECK(identical(a.subspan(6 * 17), x.subspan(6 * 17)));
    CHECK(identical(a.first(3 * 17), y.first(3 * 17)));
    for (std::size_t t = 3; t < 6; ++t) CHECK_FALSE(identical(a.subspan(17 * t, 17), y.subspan(17 * t, 17)));
    CHECK(identical(a.subspan(6 * 17), y.subspan(6 * 17)));
  });
}

TEST_CASE("an encoder-decoder cache accepts only a source of the plan's length", "[encoder]") {
  test::Run r({"", test::tiny_t5(), test::tiny_plan()}, Number::f64);
  Cache cache = r.t.make_cache(1, 8);
  CHECK_THROWS_AS(r.t.logits(std::vector<std::int64_t>{1, 2, 3, 4}, 1, 0, &cache), std::logic_error);
}

TEST_CASE("unsupported encoder-decoders are rejected", "[encoder]") {
  const auto cpu = make_cpu(Number::f32);
  const auto refusal = [&](void (*change)(Arch&)) {
    Arch a = test::tiny_t5();
    change(a);
    try {
      runnable(a, *cpu);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refusal([](Arch&) {}).empty());
  CHECK_THAT(refusal([](Arch& a) { a.final_norm = false; }), Catch::Contains("supports encoder-decoders only"));
  CHECK_THAT(refusal([](Arch& a) { a.token_types = 2; }), Catch::Contains("only token embeddings"));
  LayerMixer few;
  static_cast<Mixer&>(few) = test::tiny_llama();
  Arch uneven = test::tiny_llama();
  uneven.position = Position::relative;
  few.heads = few.kv_heads = 2;
  few.layers = LayerSet::every(1, 1, 2);
  uneven.mixers.push(few);
  CHECK_THROWS_AS(runnable(uneven, *cpu), InputError);
}

// Boundaries of PyTorch's function (hf t5/modeling_t5.py, 32 buckets, 128 tokens), computed with torch 1.13.
TEST_CASE("relative distances fall into T5's buckets", "[encoder]") {
  const DistanceRanges both{32, 128, true}, back{32, 128, false};
  const std::vector<std::pair<Count, Count>> near_and_far{{0, 0},   {7, 7},   {8, 8},   {11, 8},  {12, 9},  {15, 9},
                                                          {16, 10}, {22, 10}, {23, 11}, {31, 11}, {32, 12}, {45, 12},
                                                          {46, 13}, {63, 13}, {64, 14}, {90, 14}, {91, 15}, {999, 15}};
  const std::vector<std::pair<Count, Count>> one_way{{0, 0},   {15, 15}, {16, 16},  {18, 16},  {19, 17}, {20, 17},
                                                     {21, 18}, {23, 18}, {66, 26},  {67, 27},  {76, 27}, {77, 28},
                                                     {98, 29}, {99, 30}, {112, 30}, {113, 31}, {999, 31}};
  for (const auto& [distance, range] : near_and_far) {
    INFO(distance);
    CHECK(both.of(-distance) == range);
    if (distance > 0) CHECK(both.of(distance) == 16 + range);
  }
  for (const auto& [distance, range] : one_way) {
    INFO(distance);
    CHECK(back.of(-distance) == range);
  }
  CHECK(back.of(5) == 0);
  for (const Count distance : {-9, 0, 9})
    for (const bool both_ways : {false, true}) {
      CHECK(DistanceRanges{1, 128, both_ways}.of(distance) == 0);
      CHECK(DistanceRanges{300, 8, both_ways}.of(50 * distance) < 300);  // more buckets than distinct distances
    }
}
