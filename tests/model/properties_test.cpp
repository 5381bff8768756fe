// Properties of the transformer that hold for any weights, for every variant and number type.

#include <functional>
#include <set>

#include "model/cpu/workers.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::difference;
using test::identical;
using test::Kind;
using test::kinds;
using test::Numbers;
using test::Run;
using test::Variant;

namespace {

void each_of(const std::vector<Variant>& variants, const std::function<void(Variant, const Kind&)>& check) {
  for (const Variant& v : variants)
    for (const Kind& f : kinds) {
      INFO(v.name << ", " << f.name);
      check(v, f);
    }
}
void each(const std::function<void(Variant, const Kind&)>& check) { each_of(test::variants(), check); }
void each_generating(const std::function<void(Variant, const Kind&)>& check) {
  each_of(test::generating_variants(), check);
}

std::vector<std::int64_t> tokens(const Arch& a, Count n) {
  Plan p;
  p.micro_batch = 1;
  p.seq = n;
  return test::tiny_batch(a, p, 3).ids;
}

/// Tokens [first, first + n) of each of two sequences.
std::vector<std::int64_t> part(const std::vector<std::int64_t>& ids, Count first, Count n) {
  const auto context = static_cast<std::ptrdiff_t>(ids.size() / 2);
  std::vector<std::int64_t> some;
  for (const auto start : {ids.begin(), ids.begin() + context})
    some.insert(some.end(), start + first, start + first + n);
  return some;
}

/// Extracts the logits of token i in each of two sequences.
Numbers of_token(const Numbers& logits, std::size_t context, std::size_t i) {
  const auto width = static_cast<std::ptrdiff_t>(logits.size() / context / 2);
  Numbers two;
  for (const std::size_t s : {std::size_t{0}, context}) {
    const auto from = logits.begin() + static_cast<std::ptrdiff_t>(s + i) * width;
    two.insert(two.end(), from, from + width);
  }
  return two;
}

constexpr Count prompt = 5, context = 16;

/// Logits of tokens [prompt - 1, context) of two sequences, computed by prefill and decode steps or by full passes.
std::vector<Numbers> generated(Transformer& t, const std::vector<std::int64_t>& ids, bool cached) {
  Cache cache = t.make_cache(2, context);
  std::vector<Numbers> all{t.logits(part(ids, 0, prompt), 2, 0, cached ? &cache : nullptr)};
  for (Count i = prompt; i < context; ++i)
    all.push_back(cached ? t.logits(part(ids, i, 1), 2, i, &cache) : t.logits(part(ids, 0, i + 1), 2, 0, nullptr));
  return all;
}

/// Both losses and the final weights after two steps of two micro-batches each.
Numbers trained(const Variant& v, Number number, bool poison = false, std::uint64_t dice = 1) {
  Run r(v, number, poison);
  r.t.settings().seed = dice;
  r.make_trainable();
  Numbers all;
  for (std::uint64_t step = 0; step < 2; ++step)
    all.push_back(r.t.train(
        std::vector<Batch>{test::tiny_batch(v.arch, v.plan, 20 + step), test::tiny_batch(v.arch, v.plan, 30 + step)},
        {.rate = 0.01}));
  const Numbers w = test::weights(r.t);
  all.insert(all.end(), w.begin(), w.end());
  return all;
}

}  // namespace

TEST_CASE("training with no, selective and full recomputation gives bitwise equal results", "[properties]") {
  each([](Variant v, const Kind& f) {
    for (const bool dropout : {false, true}) {
      v.plan.dropout = dropout;
      v.plan.recompute = Recompute::none;
      const Numbers none = test::loss_and_gradients(v, f.number);
      for (const Recompute r : {Recompute::selective, Recompute::full}) {
        v.plan.recompute = r;
        INFO("dropout " << dropout << ", recompute " << static_cast<int>(r));
        CHECK(identical(test::loss_and_gradients(v, f.number), none));
      }
    }
  });
}

TEST_CASE("decoding token by token, with and without a cache, gives the logits of the full forward pass",
          "[properties]") {
  each_generating([](const Variant& given, const Kind& f) {
    const Variant v = test::with_context(given, context);
    const std::vector<std::int64_t> ids = tokens(v.arch, 2 * context);
    Run r(v, f.number);
    const Numbers full = r.t.all_logits(ids, 2);
    for (const Mla mla : {Mla::automatic, Mla::absorbed, Mla::expanded})
      for (const bool cached : {true, false}) {
        if (v.arch.attention != AttentionKind::latent && mla != Mla::automatic) continue;
        r.t.settings().plan.mla = mla;
        const std::vector<Numbers> steps = generated(r.t, ids, cached);
        REQUIRE(steps.size() == context - prompt + 1);
        for (std::size_t i = 0; i < steps.size(); ++i) {
          INFO("mla " << static_cast<int>(mla) << ", cache " << cached << ", token " << i + prompt - 1);
          CHECK(difference(steps[i], of_token(full, context, i + prompt - 1)) < test::room(v, f));
        }
      }
  });
}

TEST_CASE("absorbed latent attention gives the logits of the expanded form for every token", "[properties]") {
  each([](Variant v, const Kind& f) {
    if (v.arch.attention != AttentionKind::latent) return;
    const std::vector<std::int64_t> ids = tokens(v.arch, 2 * v.plan.seq);
    v.plan.mla = Mla::expanded;
    const Numbers expanded = Run(v, f.number).t.all_logits(ids, 2);
    v.plan.mla = Mla::absorbed;
    CHECK(difference(Run(v, f.number).t.all_logits(ids, 2), expanded) < f.rounding);
  });
}

TEST_CASE("a changed token leaves earlier logits and the other sequence's logits bitwise unchanged", "[properties]") {
  const auto check = [](const Variant& v, const Kind& f) {
    const Count length = v.plan.seq, changed = length / 2;
    std::vector<std::int64_t> ids = tokens(v.arch, 2 * length);
    Run r(v, f.number, true);
    const Numbers before = r.t.all_logits(ids, 2);
    auto& id = ids[static_cast<std::size_t>(changed)];
    id = (id + 1) % v.arch.vocabulary;
    const Numbers after = r.t.all_logits(ids, 2);
    const auto row = static_cast<std::size_t>(v.arch.vocabulary), at = static_cast<std::size_t>(changed) * row,
               second = static_cast<std::size_t>(length) * row;
    const std::span<const double> a(before), b(after);
    CHECK(identical(a.first(at), b.first(at)));
    CHECK_FALSE(identical(a.subspan(at, row), b.subspan(at, row)));
    CHECK(identical(a.subspan(second), b.subspan(second)));
  };
  each_generating(check);
  const auto all = test::generating_variants();
  for (const Variant& v : all)
    if (v.arch.has_experts() || v.name == "window" || v.name == "multi-head, naive") {
      INFO(v.name << ", grown");
      for (const Kind& f : kinds) check(test::grown(v), f);
    }
}

TEST_CASE("a changed prompt leaves generation for the other sequence bitwise unchanged", "[properties]") {
  each_generating([](const Variant& given, const Kind& f) {
    const Variant v = test::with_context(given, context);
    std::vector<std::int64_t> ids = tokens(v.arch, 2 * context);
    Run r(v, f.number);
    const std::vector<Numbers> before = generated(r.t, ids, true);
    ids[2] = (ids[2] + 1) % v.arch.vocabulary;
    const std::vector<Numbers> after = generated(r.t, ids, true);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::span<const double> a(before[i]), b(after[i]);
      CHECK(identical(a.subspan(a.size() / 2), b.subspan(b.size() / 2)));
    }
  });
}

TEST_CASE("training is bitwise reproducible and independent of uninitialized memory", "[properties]") {
  each([](Variant v, const Kind& f) {
    v.plan.dropout = true;
    const Numbers first = trained(v, f.number);
    CHECK(identical(first, trained(v, f.number)));
    CHECK(identical(first, trained(v, f.number, true)));
  });
}

TEST_CASE("generation is independent of uninitialized memory", "[properties]") {
  each_generating([](const Variant& given, const Kind& f) {
    const Variant v = test::with_context(given, context);
    const std::vector<std::int64_t> ids = tokens(v.arch, 2 * context);
    Run clean(v, f.number), poisoned(v, f.number, true);
    const auto a = generated(clean.t, ids, true), b = generated(poisoned.t, ids, true);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(identical(a[i], b[i]));
  });
}

TEST_CASE("different seeds give different weights and dropout masks", "[properties]") {
  const Variant v{"", test::tiny_llama(), test::tiny_plan()};
  for (const Kind& f : kinds) {
    const auto cpu = make_cpu(f.number);
    const auto drawn = [&](std::uint64_t seed) {
      Transformer t(v.arch, *cpu, {.plan = v.plan}, seed);
      return test::weights(t);
    };
    CHECK(identical(drawn(1), drawn(1)));
    CHECK(difference(drawn(1), drawn(2)) > 0.1);
    Variant dropped = v;
    dropped.plan.dropout = true;
    CHECK(identical(trained(v, f.number, false, 1), trained(v, f.number, false, 2)));
    CHECK_FALSE(identical(trained(dropped, f.number, false, 1), trained(dropped, f.number, false, 2)));
  }
}

TEST_CASE("dropout masks differ between steps", "[properties]") {
  Variant v{"", test::tiny_gpt(), test::tiny_plan()};
  v.plan.dropout = true;
  Run r(v, Number::f64);
  const Batch b = test::tiny_batch(v.arch, v.plan, 5);
  const double first = r.t.loss(b), again = r.t.loss(b);
  r.t.settings().steps = 1;
  CHECK(identical(Numbers{first}, Numbers{again}));
  CHECK(first != r.t.loss(b));
}

TEST_CASE("one and two threads give bitwise equal results", "[properties]") {
  // Every kernel once; the number types alternate.
  const std::set<std::string> names{"multi-head, flash",
                                    "naive, seed storage",
                                    "window, naive",
                                    "sinks",
                                    "grouped heads",
                                    "qk-norm of all heads with bias",
                                    "latent",
                                    "narrow embedding",
                                    "GEGLU",
                                    "GLU in one kernel",
                                    "experts with biases",
                                    "shared experts behind a gate",
                                    "dropout, parallel",
                                    "sinusoids",
                                    "norm without weights",
                                    "qk-norm of each head"};
  const Count had = model::threads();
  std::size_t turn = 0;
  for (const Variant& given : test::variants()) {
    if (!names.contains(given.name)) continue;
    const Kind& f = test::kinds[turn++ % std::size(kinds)];
    Variant v = test::grown(given);
    v.plan.micro_batch = 3;  // does not divide evenly between two threads
    INFO(v.name << ", " << f.name);
    model::set_threads(1);
    const Numbers one = test::loss_and_gradients(v, f.number);
    model::set_threads(2);
    const Numbers two = test::loss_and_gradients(v, f.number);
    model::set_threads(had);
    CHECK(identical(one, two));
  }
  CHECK(turn == names.size());
}

TEST_CASE("loss and gradients of four micro-batches equal those of one large batch", "[properties]") {
  each([](Variant v, const Kind& f) {
    v.plan.dropout = false;
    v.plan.micro_batch = v.plan.global_batch = 4;
    const Batch large = test::tiny_batch(v.arch, v.plan, 5);
    std::vector<Batch> small;
    const auto seq = static_cast<std::ptrdiff_t>(v.plan.seq);
    for (std::ptrdiff_t i = 0; i < 4 * seq; i += seq)
      small.push_back({{large.ids.begin() + i, large.ids.begin() + i + seq},
                       {large.targets.begin() + i, large.targets.begin() + i + seq}});
    Run r(v, f.number);
    r.make_trainable();
    const OptimizerSettings still{.rate = 0, .clip = 0};
    const double loss = r.t.train(std::vector<Batch>{large}, still);
    const Numbers whole = test::gradients(r.t);
    r.t.settings().plan.micro_batch = 1;
    const double mean = r.t.train(small, still);
    CHECK(difference(Numbers{mean}, Numbers{loss}) < f.rounding);
    CHECK(difference(test::gradients(r.t), whole) < f.rounding);
  });
}

TEST_CASE("naive and flash attention agree and use the same dropout masks", "[properties]") {
  each([](Variant v, const Kind& f) {
    for (const bool dropout : {false, true})
      for (const SoftmaxStore store : {SoftmaxStore::minimal, SoftmaxStore::seed}) {
        v.plan.dropout = dropout;
        v.plan.softmax_store = store;
        v.plan.attention = AttentionImpl::naive;
        const Numbers naive = test::loss_and_gradients(v, f.number);
        v.plan.attention = AttentionImpl::flash;
        INFO("dropout " << dropout);
        // Naive attention rounds the stored probabilities, dropped probabilities and their gradients, which multiplies
        // the tolerance in 16 bits. In fp16 the largest differences come from expert choices or ReLU signs that
        // rounding decides, above all with dropout.
        double room = test::room(v, f);
        if (f.number == Number::bf16) room *= dropout ? 3 : 2;
        if (f.number == Number::f16) room *= dropout ? 8 : 2;
        CHECK(difference(naive, test::loss_and_gradients(v, f.number)) < room);
      }
  });
}

TEST_CASE("a sliding-window or chunk cache throws if a pass would overwrite unread tokens", "[properties]") {
  for (test::Variant v : test::variants()) {
    if (v.name != "window" && v.name != "chunks") continue;
    const std::unique_ptr<model::Backend> cpu = model::make_cpu(model::Number::f32);
    model::Transformer t(v.arch, *cpu, {.plan = v.plan}, 1);
    model::Cache cache = t.make_cache(1, 9);
    const std::vector<std::int64_t> ids{1, 2, 3, 4, 5};
    t.logits(ids, 1, 0, &cache);
    CHECK_THROWS_AS(t.logits(ids, 1, 5, &cache), std::logic_error);
  }
}
