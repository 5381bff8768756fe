// Packed sequences: documents in one sequence do not attend to each other.

#include "model/documents.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// Documents of 3, 2 and 1 tokens, which fill a sequence of tiny_plan().
constexpr std::array<Count, 3> lengths{3, 2, 1};

Documents packed() {
  Documents all;
  for (const Count length : lengths) all.push({.count = 1, .length = length});
  return all;
}

/// Variants whose sequences have no parts other than documents. Excludes dropout: its mask depends on the position in
/// the sequence.
std::vector<test::Variant> packable() {
  std::vector<test::Variant> all = test::variants();
  std::erase_if(all, [](const test::Variant& v) {
    const bool has_parts = v.arch.token_types > 0 || v.arch.head.pooler || v.arch.is_encoder_decoder();
    return has_parts || !v.arch.head.has_logits() || v.plan.dropout || v.plan.mtp > 0 || !keeps_documents_apart(v.arch);
  });
  return all;
}

/// Tokens [first, first + n) of a sequence.
Batch part(const Batch& all, Count first, Count n) {
  const auto of = [&](const std::vector<std::int64_t>& tokens) {
    return std::vector<std::int64_t>(tokens.begin() + first, tokens.begin() + first + n);
  };
  return {of(all.ids), of(all.targets)};
}

/// Loss over all tokens and its gradients, with every document as a separate sequence.
test::Numbers one_by_one(test::Variant v, const Batch& all) {
  const Count tokens = v.plan.micro_batch * v.plan.seq;
  test::Numbers sums;
  Count first = 0;
  for (Count sequence = 0; sequence < v.plan.micro_batch; ++sequence)
    for (const Count length : lengths) {
      test::Variant alone = v;
      alone.plan.seq = length;
      alone.plan.micro_batch = alone.plan.global_batch = 1;
      test::Run r(alone, Number::f64, true);
      r.make_trainable();
      const double share = static_cast<double>(length) / static_cast<double>(tokens);
      test::Numbers mine{share * r.t.gradients(part(all, first, length), share, nullptr)};
      const test::Numbers g = test::gradients(r.t);
      mine.insert(mine.end(), g.begin(), g.end());
      sums.resize(mine.size());
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += mine[i];
      first += length;
    }
  return sums;
}

}  // namespace

TEST_CASE("a packed sequence has the loss and gradients of its documents as separate sequences", "[documents]") {
  const std::vector<test::Variant> all = packable();
  CHECK(all.size() > 40);
  for (test::Variant v : all) {
    INFO(v.name);
    const test::Numbers apart = one_by_one(v, test::tiny_batch(v.arch, v.plan, 5));
    CHECK(test::difference(test::loss_and_gradients(v, Number::f64), apart) > 1e-6);
    v.plan.documents = packed();
    CHECK(test::difference(test::loss_and_gradients(v, Number::f64), apart) < 1e-12);
  }
}

TEST_CASE("documents that do not fill a sequence throw std::logic_error", "[documents]") {
  test::Variant v{"", test::tiny_llama(), test::tiny_plan()};
  v.plan.documents = packed();
  v.plan.seq = 7;
  test::Run r(v, Number::f64);
  CHECK_THROWS_AS(r.t.loss(test::tiny_batch(v.arch, v.plan, 5)), std::logic_error);
}
