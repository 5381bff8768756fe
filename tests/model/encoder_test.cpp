// What must hold of encoders: every token sees all of its sequence, and their heads read what they say.

#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/encoders.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::identical;
using test::Numbers;

namespace {

/// Every layer alike, pooled: the pooler's result of two sequences of 6 tokens.
Numbers pooled(Arch a, const std::vector<std::int64_t>& ids) {
  a.head = {.kind = HeadKind::none, .pooler = true};
  a.tied_head = a.head_bias = false;
  test::Run r({"", a, test::tiny_plan()}, Number::f64, true);
  return r.t.logits(ids, 2, 0, nullptr);
}

std::vector<std::int64_t> twelve_tokens() { return test::tiny_batch(test::tiny_bert(), test::tiny_plan(), 3).ids; }

}  // namespace

TEST_CASE("a changed token changes an encoder's logits of every token of its sequence, and of no other", "[encoder]") {
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

TEST_CASE("a pass of inference gives an encoder's logits of the last token of each sequence", "[encoder]") {
  const test::Variant v{"", test::tiny_bert(), test::tiny_plan()};
  test::Run r(v, Number::f64, true);
  const Numbers all = r.t.all_logits(twelve_tokens(), 2), last = r.t.logits(twelve_tokens(), 2, 0, nullptr);
  REQUIRE(last.size() == 2 * 17);
  const std::span<const double> a(all), b(last);
  CHECK(test::difference(b.first(17), a.subspan(5 * 17, 17)) < 1e-12);
  CHECK(test::difference(b.last(17), a.last(17)) < 1e-12);
}

TEST_CASE("a pooler's numbers are tangents, one row per sequence", "[encoder]") {
  const Numbers y = pooled(test::tiny_bert(), twelve_tokens());
  REQUIRE(y.size() == 2 * 12);
  for (const double x : y) CHECK(std::abs(x) < 1);
}

TEST_CASE("without layers between, a pooler reads the first token alone", "[encoder]") {
  Arch a = test::tiny_bert();  // whose layers give the residual stream as it is
  a.mixers.push({.reach = {}, .layers = LayerSet::all(2)});
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
