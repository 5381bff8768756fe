// Wrong predictions are detected: compares a small model's run with the prediction for another model or plan.

#include "tests/catch.hpp"
#include "validate/compare.hpp"
#include "validate/measure.hpp"
#include "validate/predict.hpp"
#include "validate/suite.hpp"

using namespace llmcalc;
using namespace llmcalc::validate;

namespace {

/// Multi-head attention, LayerNorm, plain MLP, no recomputation, 3 layers of width 16, 14 tokens.
Case plain() { return make_case(validate::LevelChoice(factors().size(), 0)); }

Ledger predicted(const Case& c) { return predicted_training(c.arch, c.plan); }

Ledger measured(const Case& c) {
  const auto backend = model::make_cpu(model::Number::f32);
  model::Transformer t(c.arch, *backend, {.plan = c.plan}, 1);
  t.weights().make_trainable(c.plan);
  return measured_training(t, 1);
}

CaseVerdict judged(const Ledger& predicted, const Ledger& measured) {
  CaseVerdict v{.name = "plain", .rows = {}, .beside = {}, .order = "", .operators = 0};
  compare(v, "training", predicted, measured, training_names);
  return v;
}

const Comparison& row(const CaseVerdict& v, const std::string& quantity, const std::string& op = "") {
  for (const Comparison& c : v.rows)
    if (c.quantity == quantity && c.op == op) return c;
  FAIL("there is no row of " << quantity << ", " << op);
  return v.rows.front();
}

/// Measured minus predicted; equal() must agree.
Count off(const CaseVerdict& v, const std::string& quantity, const std::string& op = "") {
  const Comparison& c = row(v, quantity, op);
  CHECK(c.equal() == (c.measured == c.predicted));
  return c.measured - c.predicted;
}

}  // namespace

TEST_CASE("a correct prediction has no differences", "[verdict]") {
  const CaseVerdict v = judged(predicted(plain()), measured(plain()));
  CHECK(v.differing() == 0);
  CHECK(v.order.empty());
  CHECK(v.operators == static_cast<Count>(measured(plain()).order.size()));
}

TEST_CASE("a prediction for a wider MLP differs in count, bytes, FLOPs and shapes of the MLP only", "[verdict]") {
  Case wider = plain();
  wider.arch.mlp_width += 1;
  const CaseVerdict v = judged(predicted(wider), measured(plain()));
  CHECK(off(v, "parameters") == -3 * 2 * 16);
  CHECK(off(v, "weights") == 4 * off(v, "parameters"));
  CHECK(off(v, "optimizer") == 8 * off(v, "parameters"));
  CHECK(off(v, "FLOPs forward", "mlp.up") == -3 * 2 * 14 * 16);
  CHECK(off(v, "FLOPs forward") == 2 * off(v, "FLOPs forward", "mlp.up"));
  CHECK(off(v, "FLOPs backward", "mlp.down") == -3 * 2 * 2 * 14 * 16);
  CHECK(off(v, "saved for backward", "mlp.down") == -3 * 4 * 14);
  for (const char* equal : {"attn.q", "attn.out", "head.logits"}) CHECK(off(v, "FLOPs forward", equal) == 0);
  CHECK(v.order.ends_with(": mlp.up forward was predicted, but mlp.up forward ran, with a different shape"));
  CHECK(v.differing() ==
        1 + std::count_if(v.rows.begin(), v.rows.end(), [](const Comparison& c) { return c.predicted != c.measured; }));
}

TEST_CASE("recomputation that is only predicted or only measured is a difference", "[verdict]") {
  Case again = plain();
  again.plan.recompute = Recompute::full;
  const CaseVerdict missing = judged(predicted(again), measured(plain()));
  CHECK(row(missing, "FLOPs recomputed", "mlp.up").measured == 0);
  CHECK(row(missing, "FLOPs recomputed", "mlp.up").predicted == 3 * 2 * 14 * 16 * 22);
  CHECK(row(missing, "saved for backward", "block.input").measured == 0);
  CHECK(row(missing, "saved for backward", "mlp.down").predicted == 0);
  CHECK_THAT(missing.order, Catch::Contains(": attn.norm recomputed was predicted, but "));

  const CaseVerdict more = judged(predicted(plain()), measured(again));
  CHECK(row(more, "FLOPs recomputed", "mlp.up").predicted == 0);
  CHECK(row(more, "FLOPs recomputed", "mlp.up").measured == 3 * 2 * 14 * 16 * 22);
  CHECK(off(more, "activations") < 0);
}

TEST_CASE("a missing, an extra or a misplaced operator is reported as one difference", "[verdict]") {
  const Ledger right = predicted(plain());
  const std::size_t last = right.order.size() - 1;
  REQUIRE(right.order[0].name == "embedding.tokens");
  REQUIRE(right.order[1].name == "attn.norm");

  Ledger wrong = right;
  std::swap(wrong.order[0], wrong.order[1]);
  CaseVerdict v = judged(wrong, right);
  CHECK(v.order == "training, operator 1: attn.norm forward was predicted, but embedding.tokens forward ran");
  CHECK(v.differing() == 1);

  wrong = right;
  wrong.order.pop_back();
  const std::string place = "training, operator " + std::to_string(last + 1) + ": ";
  CHECK(judged(wrong, right).order == place + "no operator was predicted, but embedding.tokens backward ran");
  v = judged(right, wrong);
  CHECK(v.order == place + "embedding.tokens backward was predicted, but no operator ran");
  CHECK(v.differing() == 1);
  CHECK(v.operators == static_cast<Count>(last + 1));

  wrong = right;
  wrong.order[last].direction = model::Direction::recompute;
  CHECK(judged(wrong, right).order ==
        place + "embedding.tokens recomputed was predicted, but embedding.tokens backward ran");
}

TEST_CASE("individually counted FLOPs are compared in separate rows", "[verdict]") {
  const Ledger right = predicted(plain());
  Ledger counted = right;
  counted.forward["attn.q"] += 1;
  counted.beside["attn.core"] = 77;
  CaseVerdict v{.name = "plain", .rows = {}, .beside = {}, .order = "", .operators = 0};
  compare_counted(v, "training", right, counted, training_names);
  CHECK(off(v, "FLOPs forward, counted", "attn.q") == 1);
  CHECK(off(v, "FLOPs forward, counted") == 1);
  CHECK(off(v, "FLOPs backward, counted") == 0);
  CHECK(v.differing() == 2);
  REQUIRE(v.beside.size() == 1);
  CHECK(v.beside[0].operations == 77);
}

TEST_CASE("worst() returns the largest relative difference of all models", "[verdict]") {
  const Ledger right = predicted(plain());
  std::string name = "none";
  CHECK(worst({judged(right, right)}, name) == nullptr);
  CHECK(name == "none");

  Ledger slightly = right, gravely = right;
  slightly.bytes["peak"] += 1000;
  gravely.saved["head.norm"] /= 2;
  gravely.bytes["peak"] += 1;
  std::vector<CaseVerdict> all{judged(right, slightly), judged(right, gravely), judged(right, slightly)};
  all[1].name = "the second";
  const Comparison* c = worst(all, name);
  REQUIRE(c != nullptr);
  CHECK(name == "the second");
  CHECK(c->quantity == "saved for backward");
  CHECK(c->op == "head.norm");
  CHECK(c->measured == right.saved.at("head.norm") / 2);

  gravely.saved.erase("attn.q");  // missing completely
  all[2] = judged(right, gravely);
  all[2].name = "the third";
  CHECK(worst(all, name)->op == "attn.q");
  CHECK(name == "the third");
}
