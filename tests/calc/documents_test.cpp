// Packed sequences, in which a token attends only to its own document.

#include "calc/textbook/flops.hpp"
#include "calc/train.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

Documents packed(std::initializer_list<DocumentRun> runs) {
  Documents all;
  for (const DocumentRun& d : runs) all.push(d);
  return all;
}

Plan plan(Count seq, const Documents& documents = {}) {
  Plan p;
  p.seq = seq;
  p.micro_batch = p.global_batch = 2;
  p.documents = documents;
  p.attention_flops = AttentionFlops::causal_exact;
  return p;
}

/// Pairs of a token with itself or an earlier token, in its document and within reach, counted one by one.
Count pairs_counted(const std::vector<Count>& document_of, const Reach& reach) {
  Count pairs = 0;
  for (std::size_t query = 0, begin = 0; query < document_of.size(); ++query) {
    if (document_of[query] != document_of[begin]) begin = query;
    const auto position = static_cast<Count>(query - begin);
    for (Count key = 0; key <= position; ++key) pairs += key >= reach.first(position) ? 1 : 0;
  }
  return pairs;
}

Flops core(const Attention& s, const Plan& p) { return forward(Shape(s), pricing(p, Phase::training), {}).model; }

}  // namespace

TEST_CASE("query-key pairs of a packed sequence lie within its documents, even with a window or chunks",
          "[cost][documents]") {
  const std::vector<Count> document_of{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3};
  const Documents documents = packed({{1, 7}, {2, 3}, {1, 1}});
  for (const Reach& reach : {Reach{}, Reach{4}, Reach{2, true}, Reach{5, true}, Reach{100}}) {
    const Attention s{
        .sequences = 2, .heads = 3, .kv_heads = 3, .queries = 14, .keys = 14, .qk_dim = 5, .v_dim = 4, .reach = reach};
    const Count counted = pairs_counted(document_of, reach);
    CHECK(core(s, plan(14, documents)) == Flops(static_cast<Int128>(2 * 2 * 3 * (5 + 4) * counted)));
  }
}

TEST_CASE("packing one document changes no cost, and one-token documents attend only to themselves", "[documents]") {
  const Arch a = even();
  const auto whole = training_flops(a, plan(64)), one = training_flops(a, plan(64, packed({{1, 64}})));
  CHECK(one.forward == whole.forward);
  CHECK(one.executed == whole.executed);
  const auto least = training_flops(a, plan(64, packed({{64, 1}})));
  const auto by_token = training_flops(a, plan(1));
  CHECK(least.forward == 64 * by_token.forward);
  CHECK(least.executed == 64 * by_token.executed);
}

TEST_CASE("packed documents cost the FLOPs of separate sequences and use the memory of one sequence", "[documents]") {
  for (const Arch& a : {even(), even_latent(), even_moe()}) {
    Plan each = plan(16);
    each.micro_batch = each.global_batch = 8;
    const Plan together = plan(64, packed({{4, 16}}));
    CHECK(training_flops(a, together).backward == training_flops(a, each).backward);
    CHECK(training_flops(a, together).executed == training_flops(a, each).executed);
    const Cluster c = device(1e12, 1e11, 1e10);
    const TrainEstimate packed_step = train(a, together, {}, c), whole_step = train(a, plan(64), {}, c);
    CHECK(packed_step.memory.peak == whole_step.memory.peak);
    CHECK(packed_step.bound[Part::attention] <= whole_step.bound[Part::attention]);
    CHECK(packed_step.bound[Part::matmul] == whole_step.bound[Part::matmul]);
  }
}

TEST_CASE("kernels that store scores compute them across documents and mask them afterward", "[documents]") {
  Plan naive = plan(64), packed_too = plan(64, packed({{4, 16}}));
  naive.attention = packed_too.attention = AttentionImpl::naive;
  CHECK(training_flops(even(), packed_too).executed == training_flops(even(), naive).executed);
  CHECK(training_flops(even(), packed_too).forward < training_flops(even(), naive).forward);
}

TEST_CASE("query-key pairs of all documents are divided evenly over context-parallel ranks", "[documents]") {
  const Plan p = plan(64, packed({{1, 32}, {2, 16}}));
  const Cluster c = device(1e12, 1e11, 1e10);
  const Prices one = price(even(), p, {}, c.device), four = price(even(), p, {.cp = 4}, c.device);
  CHECK(four.whole.executed == one.whole.executed);
  CHECK(4 * four.layer(0).forward.cost.executed == one.layer(0).forward.cost.executed);
}

TEST_CASE("the textbook's query-key pairs per document add up to the engine's", "[documents]") {
  const Plan p = plan(1024, packed({{1, 512}, {3, 128}, {2, 64}}));
  textbook::Fraction pairs = 0;
  for (const DocumentRun& d : p.documents)
    pairs = pairs + textbook::Fraction(d.count) * textbook::attention_pairs(AttentionFlops::causal_exact, d.length);
  const Work work = whole_flops(even(), p, training_step(p), Phase::training).forward;
  const Arch a = even();
  CHECK(textbook::Fraction(static_cast<Count>(work.core.value)) ==
        textbook::Fraction(4 * p.micro_batch * a.layers * a.heads * a.head_dim) * pairs);
}
