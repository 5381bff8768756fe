// Compares training steps and generation of the CUDA backend with the CPU in double: on the GPU emulator, and on a GPU
// if LLMCALC_TEST_GPU is set.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/emulated.hpp"
#include "tests/models/tiny.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::difference;

namespace {

/// Copies the weights of `from`, so that both have exactly the values of the narrower format.
void align(Transformer& from, Transformer& to) {
  for (std::size_t i = 0; i < from.weights().all().size(); ++i) {
    Parameter &a = from.weights().all()[i], &b = to.weights().all()[i];
    to.weights().set(b, from.weights().get(a.value, a.elements(), false));
  }
}

struct Pair {
  std::unique_ptr<Backend> gpu, cpu;
  Transformer tested, exact;
  Pair(test::MakeBackend make, const test::Variant& v, Number number)
      : gpu(make(number, true)),
        cpu(make_cpu(Number::f64, true)),
        tested(v.arch, *gpu, {.plan = v.plan}, 7),
        exact(v.arch, *cpu, {.plan = v.plan}, 7) {
    test::scramble(tested, 11, 0.2);
    align(tested, exact);
  }
};

std::vector<double> gradient_of(Transformer& t) {
  std::vector<double> all;
  for (const Parameter& p : t.weights().all()) {
    const std::vector<double> one = t.weights().get(p.gradient, p.elements(), true);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

/// Calls f(make, variant) for every variant on every tested GPU backend.
template <typename F>
void each_variant(F f) {
  for (const test::MakeBackend make : test::gpus())
    for (const test::Variant& v : test::variants(*make(Number::f32, false))) {
      INFO(v.name);
      f(make, v);
    }
}

}  // namespace

TEST_CASE("the loss and gradients of every variant on a GPU match the CPU's", "[cuda]") {
  each_variant([](test::MakeBackend make, const test::Variant& v) {
    Pair p(make, v, Number::f32);
    p.tested.weights().make_trainable(v.plan);
    p.exact.weights().make_trainable(v.plan);
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    const double tested = p.tested.gradients(batch, 1, nullptr), exact = p.exact.gradients(batch, 1, nullptr);
    CHECK(std::fabs(tested - exact) <= 1e-5 * std::fabs(exact));
    CHECK(difference(gradient_of(p.tested), gradient_of(p.exact)) <= 1e-5);
  });
}

TEST_CASE("bfloat16 gradients on a GPU are as close to double precision as on the CPU", "[cuda]") {
  each_variant([](test::MakeBackend make, const test::Variant& v) {
    Pair p(make, v, Number::bf16);
    const std::unique_ptr<Backend> cpu = make_cpu(Number::bf16, true);
    Transformer rounded(v.arch, *cpu, {.plan = v.plan}, 7);
    align(p.tested, rounded);
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    std::vector<std::vector<double>> gradients;
    for (Transformer* t : {&p.tested, &p.exact, &rounded}) {
      t->weights().make_trainable(v.plan);
      t->gradients(batch, 1, nullptr);
      gradients.push_back(gradient_of(*t));
    }
    const double own = difference(gradients[0], gradients[1]), usual = difference(gradients[2], gradients[1]);
    CHECK(own <= std::max(1e-2, 1.5 * usual));
  });
}

TEST_CASE("logits of a prompt and of a decode step on a GPU match the CPU's, with and without a cache", "[cuda]") {
  each_variant([](test::MakeBackend make, test::Variant v) {
    for (const Mla mla : {Mla::automatic, Mla::absorbed, Mla::expanded}) {
      if (v.arch.attention != AttentionKind::latent && mla != Mla::automatic) continue;
      v.plan.mla = mla;
      Pair p(make, v, Number::f32);
      INFO("mla " << static_cast<int>(mla));
      const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
      const std::vector<std::int64_t> ids(batch.ids.begin(), batch.ids.begin() + 5);
      for (const bool cached : {true, false}) {
        std::vector<std::vector<double>> logits;
        for (Transformer* t : {&p.tested, &p.exact}) {
          Cache cache = t->make_cache(1, 6);
          Cache* const saved = cached ? &cache : nullptr;
          std::vector<double> both = t->logits(ids, 1, 0, saved);
          if (cached) {
            const std::int64_t next = 1;
            const std::vector<double> more = t->logits(std::span(&next, 1), 1, 5, saved);
            both.insert(both.end(), more.begin(), more.end());
          }
          logits.push_back(both);
        }
        CHECK(difference(logits[0], logits[1]) <= 1e-5);
      }
    }
  });
}

TEST_CASE("the loss after ten training steps on a GPU matches the CPU's", "[cuda][long]") {
  each_variant([](test::MakeBackend make, const test::Variant& v) {
    Pair p(make, v, Number::f32);
    p.tested.weights().make_trainable(v.plan);
    p.exact.weights().make_trainable(v.plan);
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    double tested = 0, exact = 0;
    for (int i = 0; i < 10; ++i) {
      tested = p.tested.train(std::span(&batch, 1), {});
      exact = p.exact.train(std::span(&batch, 1), {});
    }
    CHECK(std::fabs(tested - exact) <= 1e-3 * std::fabs(exact));
  });
}
