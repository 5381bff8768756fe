// MTP modules: loss and drafts.

#include "tests/models/further.hpp"

#include "calc/parameters.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "text/error.hpp"
#include "validate/run.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Run;
using test::Variant;

namespace {

using Tokens = std::vector<std::int64_t>;

/// A model in double with scrambled weights and a context of `context` tokens.
struct Drafting : Run {
  static constexpr Count context = 16, sequences = 2;
  explicit Drafting(const Variant& v) : Run(test::with_context(v, context), Number::f64), modules(v.plan.mtp) {
    test::scramble(t, 11);
  }

  Tokens prompt(Count n) const {
    Plan p;
    p.micro_batch = sequences;
    p.seq = n;
    return test::tiny_batch(t_arch(), p, 3).ids;
  }
  const Arch& t_arch() const { return t.arch(); }

  /// Greedy decoding after a prompt, token by token.
  std::vector<Tokens> plain(const Tokens& text, Count tokens) {
    Cache cache = t.make_cache(sequences, context);
    std::vector<Tokens> all(sequences);
    Tokens next = text;
    Count past = 0;
    for (Count i = 0; i < tokens; ++i) {
      const std::vector<double> logits = t.logits(next, sequences, past, &cache);
      past += static_cast<Count>(next.size()) / sequences;
      next.clear();
      for (Count s = 0; s < sequences; ++s) {
        const auto row = logits.begin() + s * t.arch().vocabulary;
        next.push_back(std::max_element(row, row + t.arch().vocabulary) - row);
        all[static_cast<std::size_t>(s)].push_back(next.back());
      }
    }
    return all;
  }
  /// Greedy decoding with drafts.
  std::vector<Tokens> by_drafts(const Tokens& text, Count tokens) {
    Cache cache = t.make_cache(sequences, context);
    std::vector<Tokens> all(sequences);
    Tokens next = text;
    Count past = 0;
    passes = 0;
    while (static_cast<Count>(all[0].size()) < tokens) {
      const Drafts d = t.drafted(next, sequences, past, cache);
      REQUIRE(static_cast<Count>(d.tokens.size()) == sequences * (1 + modules));
      for (Count s = 0; s < sequences; ++s) {
        Tokens& own = all[static_cast<std::size_t>(s)];
        const Count queries = static_cast<Count>(next.size()) / sequences;
        if (past > 0) own.insert(own.end(), next.begin() + s * queries + 1, next.begin() + s * queries + d.saved);
        own.push_back(d.tokens[static_cast<std::size_t>(s * (1 + modules))]);
      }
      past += d.saved;
      next = d.tokens;
      ++passes;
    }
    for (Tokens& own : all) own.resize(static_cast<std::size_t>(tokens));
    return all;
  }

  Count modules, passes = 0;
};

/// Variants whose caches can be rewound to an earlier token.
std::vector<Variant> rewinding() {
  std::vector<Variant> all = test::further_variants();
  std::erase_if(all, [](const Variant& v) { return Cache::forgets(v.arch, Drafting::context); });
  REQUIRE(all.size() >= 5);
  return all;
}

/// "0 1 2 3 4 0 1 ..." in every sequence.
Tokens counting(Count sequences, Count length, Count first) {
  Tokens all;
  for (Count s = 0; s < sequences; ++s)
    for (Count i = 0; i < length; ++i) all.push_back((first + s + i) % 5);
  return all;
}

}  // namespace

TEST_CASE("parameter counts of MTP modules match the engine", "[further][parameters]") {
  for (const Variant& v : test::further_variants()) {
    INFO(v.name);
    Arch used = v.arch;
    used.mtp.modules = v.plan.mtp;
    Count all = 0;
    for (const ParameterShape& s : parameter_shapes(v.arch, v.plan.mtp)) all += s.elements();
    CHECK(all == parameters(v.arch).total + mtp_parameters(used).total);
    CHECK(all == Run(v, Number::f32).t.weights().count());
  }
}

TEST_CASE("the training loss is the model's plus a fraction of the mean loss of its MTP modules", "[further]") {
  for (const Variant& v : test::further_variants()) {
    if (v.plan.dropout) continue;
    INFO(v.name);
    Drafting d(v);
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    const auto with = [&](double share) {
      d.t.settings().further_share = share;
      return d.t.loss(batch);
    };
    d.t.settings().plan.mtp = 0;
    const double alone = d.t.loss(batch);
    d.t.settings().plan.mtp = v.plan.mtp;
    const double none = with(0), whole = with(1);
    CHECK(none == alone);
    CHECK(whole > alone);
    CHECK(with(0.3) == Approx(alone + 0.3 * (whole - alone)));
  }
}

TEST_CASE("the last tokens of an MTP module have no targets", "[further]") {
  Drafting d(test::with_modules("", test::tiny_llama(), 2));
  d.t.settings().plan = test::tiny_plan();
  d.t.settings().plan.mtp = 2;
  Batch batch = test::tiny_batch(d.t.arch(), d.t.settings().plan, 5);
  const auto of_modules = [&] {
    d.t.settings().further_share = 1;
    const double whole = d.t.loss(batch);
    d.t.settings().further_share = 0;
    return whole - d.t.loss(batch);
  };
  const double before = of_modules();
  batch.targets[0] = (batch.targets[0] + 1) % d.t.arch().vocabulary;  // target of the first token
  CHECK(of_modules() == Approx(before).epsilon(1e-12));
  batch.targets[5] = (batch.targets[5] + 1) % d.t.arch().vocabulary;  // target of the last token
  CHECK(of_modules() != Approx(before).epsilon(1e-3));
}

TEST_CASE("a batch too short for an MTP module adds no loss and gives the module zero gradients", "[further]") {
  Variant v = test::with_modules("", test::tiny_llama(), 2);
  v.plan.seq = 1;
  Run r(v, Number::f64);
  r.make_trainable();
  const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
  const double loss = r.t.gradients(batch, 1, nullptr);
  CHECK(std::isfinite(loss));
  for (const Parameter& p : r.t.weights().all())
    if (p.shape.name.starts_with("layers.2.") || p.shape.name.starts_with("layers.3."))
      for (const double g : r.t.weights().get(p.gradient, p.elements(), true)) CHECK(g == 0);
}

TEST_CASE("greedy decoding gives the same tokens with and without drafts", "[further]") {
  for (const Variant& v : rewinding()) {
    INFO(v.name);
    Drafting d(v);
    CHECK(d.by_drafts(d.prompt(4), 8) == d.plain(d.prompt(4), 8));
    CHECK(d.passes <= 8);
  }
}

// Compares the first module's drafts only: at the end of the prompt, later modules read drafts that the model has not
// chosen.
TEST_CASE("drafts from cached tokens equal drafts from the whole text", "[further]") {
  for (const Variant& v : test::further_variants()) {
    INFO(v.name);
    Drafting d(v);
    const Count queries = 1 + d.modules;
    const Tokens text = d.prompt(4);
    Cache cache = d.t.make_cache(2, Drafting::context), fresh = d.t.make_cache(2, Drafting::context);
    const Drafts first = d.t.drafted(text, 2, 0, cache);
    // The model's own choices, so that all are accepted.
    Tokens next, whole;
    const std::vector<Tokens> certain = d.plain(text, queries);
    for (Count s = 0; s < 2; ++s) {
      const Tokens& own = certain[static_cast<std::size_t>(s)];
      next.insert(next.end(), own.begin(), own.end());
      whole.insert(whole.end(), text.begin() + s * 4, text.begin() + (s + 1) * 4);
      whole.insert(whole.end(), own.begin(), own.end());
    }
    const Drafts behind = d.t.drafted(next, 2, 4, cache), at_once = d.t.drafted(whole, 2, 0, fresh);
    CHECK(first.saved == 4);
    CHECK(behind.saved == queries);
    CHECK(at_once.saved == 4 + queries);
    for (const std::size_t s : {std::size_t{0}, static_cast<std::size_t>(queries)})
      for (const std::size_t k : {s, s + 1}) CHECK(behind.tokens.at(k) == at_once.tokens.at(k));
  }
}

TEST_CASE("trained MTP modules draft correctly, so each pass yields one token more than there are modules",
          "[further]") {
  Variant v = test::with_modules("", test::tiny_llama(), 2);
  v.arch.mtp.own_norm = true;
  v.plan.seq = 12;
  Drafting d(v);
  d.make_trainable();
  for (int step = 0; step < 150; ++step) {
    const Count first = step % 5;
    const Batch batch{counting(2, 12, first), counting(2, 12, first + 1)};
    d.t.train({&batch, 1}, {.rate = 0.01, .decay = 0});
  }
  const Tokens prompt = counting(2, 4, 2);
  CHECK(d.by_drafts(prompt, 10) == std::vector<Tokens>{counting(1, 10, 6), counting(1, 10, 7)});
  CHECK(d.passes == 4);  // one token from the prompt, then three times three
}

TEST_CASE("MTP modules are rejected with mixed residual streams or values shared across layers", "[further]") {
  for (void (*change)(Arch&) : {+[](Arch& a) { a.residual_block = 2; },
                                +[](Arch& a) { a.position = Position::relative, a.position_rows = 6; }}) {
    Variant v = test::with_modules("", test::tiny_llama(), 1);
    change(v.arch);
    CHECK_THROWS_WITH(Run(v, Number::f32), Catch::StartsWith("the reference transformer supports only MTP modules"));
    v.plan.mtp = 0;
    CHECK_NOTHROW(Run(v, Number::f32));
  }
}

TEST_CASE("MTP modules on a GPU are rejected with a reason", "[further][suite][every]") {
  validate::Case c = validate::small_suite().front();
  c.arch.mtp = {.modules = 1, .mixer_of = 2, .mlp_of = 2};
  c.plan.mtp = 1;
  validate::Where gpu;
  gpu.on_processor = false;
  CHECK_THROWS_WITH(validate::check_runnable(c, {}, gpu),
                    "the reference transformer does not run this plan: the GPU backend does not support MTP modules; "
                    "omit --mtp or use --device cpu");
  CHECK_NOTHROW(validate::check_runnable(c, {}));
}

TEST_CASE("with sliding windows, MTP drafting is rejected, but training is not", "[further][suite]") {
  Variant v = test::with_modules("", test::tiny_llama(), 1);
  v.arch.local = {.reach = {3}, .layers = LayerSet::every(0, 2, 2)};
  v.plan.weight_precision = v.plan.precision = dtypes::fp32;
  v.plan.kv_precision = dtypes::fp32;
  v.plan.state_precision = dtypes::fp32;
  const validate::Case c{"windows", v.arch, v.plan};
  CHECK_THROWS_WITH(validate::check_runnable(c, {}), Catch::Contains("drafts use several; omit --mtp or add --train"));
  CHECK_NOTHROW(validate::check_runnable(c, {.inference = false}));
  CHECK(validated(c, {.training = true, .inference = false, .counted = true}, {}).differing() == 0);
}
