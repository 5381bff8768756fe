// Frozen parts of a model, and adapters on frozen matrices.

#include "tests/model/frozen.hpp"
#include "tests/model/differences.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// Calls f(variant, run) for every choice that freezes only some of the parameters. Returns the number of calls.
template <typename F>
std::size_t each_frozen(const F& f) {
  std::size_t n = 0;
  for (const test::Variant& given : test::trained_in_part())
    for (const test::FrozenChoice& c : test::frozen_choices(given.arch)) {
      test::Variant v = given;
      v.plan.frozen = c.frozen;
      INFO(v.name << " without " << c.name);
      test::Run r(v, Number::f64, true);
      r.make_trainable();
      const std::size_t trained = r.t.weights().trained().size();
      if (trained == 0 || trained == r.t.weights().all().size()) continue;
      f(v, r);
      ++n;
    }
  return n;
}

/// The variant with LoRA adapters of this rank.
test::Variant with_rank(test::Variant v, Count rank) {
  v.plan.lora_rank = rank;
  return v;
}

/// Merges adapters into a model without them: W + B A for adapted matrices, other weights unchanged.
void merge(Transformer& from, Transformer& to) {
  for (Parameter& p : to.weights().all()) {
    std::vector<double> w = from.weights().get(from.weights().find(-1, p.shape.name)->value, p.elements(), false);
    const std::string op = p.shape.name.substr(0, p.shape.name.rfind('.'));
    const Parameter* const down = from.weights().find(-1, op + "_lora_down.weight");
    const Parameter* const up = from.weights().find(-1, op + "_lora_up.weight");
    if (down != nullptr && p.shape.in > 0) {
      const std::vector<double> a = from.weights().get(down->value, down->elements(), false);
      const std::vector<double> b = from.weights().get(up->value, up->elements(), false);
      const Count rank = down->shape.out;
      for (Count g = 0; g < p.shape.groups; ++g)
        for (Count o = 0; o < p.shape.out; ++o)
          for (Count i = 0; i < p.shape.in; ++i)
            for (Count r = 0; r < rank; ++r)
              w[static_cast<std::size_t>((g * p.shape.out + o) * p.shape.in + i)] +=
                  b[static_cast<std::size_t>((g * p.shape.out + o) * rank + r)] *
                  a[static_cast<std::size_t>((g * rank + r) * p.shape.in + i)];
    }
    to.weights().set(p, w);
  }
}

}  // namespace

TEST_CASE("gradients with frozen parts are bitwise equal to those of full training", "[frozen]") {
  const std::size_t n = each_frozen([](const test::Variant& v, test::Run& r) {
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    const double loss = r.t.gradients(batch, 1, nullptr);
    test::Variant all = v;
    all.plan.frozen = {};
    test::Run whole(all, Number::f64, true);
    whole.make_trainable();
    CHECK(whole.t.gradients(batch, 1, nullptr) == loss);
    for (const Parameter* p : r.t.weights().trained()) {
      const Parameter* const same = whole.t.weights().find(-1, p->shape.name);
      INFO(p->shape.name);
      CHECK(test::identical(r.t.weights().get(p->gradient, p->elements(), true),
                            whole.t.weights().get(same->gradient, p->elements(), true)));
    }
  });
  CHECK(n > 300);
}

TEST_CASE("an update leaves frozen parameters unchanged and changes all others with a nonzero gradient", "[frozen]") {
  each_frozen([](const test::Variant& v, test::Run& r) {
    const test::Numbers before = test::weights(r.t);
    r.t.train(std::vector{test::tiny_batch(v.arch, v.plan, 5)}, {.decay = 0});
    std::size_t at = 0;
    const test::Numbers after = test::weights(r.t);
    for (const Parameter& p : r.t.weights().all()) {
      const auto n = static_cast<std::size_t>(p.elements());
      INFO(p.shape.name);
      const bool same = std::equal(before.begin() + static_cast<std::ptrdiff_t>(at),
                                   before.begin() + static_cast<std::ptrdiff_t>(at + n),
                                   after.begin() + static_cast<std::ptrdiff_t>(at));
      const bool moves = p.gradient && test::norm(r.t.weights().gradient(p)) > 0;
      if (!p.gradient || moves) CHECK(same == !p.gradient);
      at += n;
    }
  });
}

TEST_CASE("newly initialized adapters leave the loss bitwise unchanged", "[adapters]") {
  for (const test::Variant& v : test::trained_in_part()) {
    INFO(v.name);
    const std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
    Transformer without(v.arch, *cpu, {.plan = v.plan}, std::nullopt);
    Transformer with(v.arch, *cpu, {.plan = with_rank(v, 2).plan}, 7);
    for (Parameter& p : without.weights().all())
      without.weights().set(p, with.weights().get(with.weights().find(-1, p.shape.name)->value, p.elements(), false));
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    CHECK(with.loss(batch) == without.loss(batch));
  }
}

TEST_CASE("a model with adapters equals the model with merged adapters", "[adapters]") {
  for (const test::Variant& v : test::trained_in_part()) {
    INFO(v.name);
    test::Run with(with_rank(v, 2), Number::f64, true);
    test::Run merged(v, Number::f64, true);
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    const double apart = merged.t.loss(batch);
    merge(with.t, merged.t);
    CHECK(merged.t.loss(batch) != apart);
    CHECK(std::abs(with.t.loss(batch) / merged.t.loss(batch) - 1) < 1e-12);
  }
}

TEST_CASE("every adapter gradient equals central differences", "[gradient][adapters]") {
  for (const test::Variant& v : test::trained_in_part()) test::check_gradients(with_rank(v, 2), {});
}

TEST_CASE("only adapters of target matrices are trained, and training reduces the loss", "[adapters]") {
  test::Variant v = with_rank({"", test::tiny_llama(), test::tiny_plan()}, 2);
  v.plan.lora_targets = LoraTarget::q;
  v.plan.lora_targets.add(LoraTarget::down);
  test::Run r(v, Number::f64, true);
  r.make_trainable();
  CHECK(r.t.weights().trained().size() == 8);  // A and B of two matrices in two layers
  for (const Parameter* p : r.t.weights().trained()) CHECK(p->shape.name.find("_lora_") != std::string::npos);
  const std::vector<Batch> batch{test::tiny_batch(v.arch, v.plan, 5)};
  const double before = r.t.loss(batch[0]);
  for (int i = 0; i < 20; ++i) r.t.train(batch, {.rate = 1e-2});
  CHECK(r.t.loss(batch[0]) < before);
}

TEST_CASE("frozen quantized matrices give the same gradients as their dequantized values", "[adapters]") {
  for (const char* format : {"nf4-dq", "int8", "mxfp4", "fp8"})
    for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama(), test::tiny_deepseek()}) {
      INFO(format);
      test::Variant v = with_rank({"", arch, test::tiny_plan()}, 2);
      v.plan.precision = dtypes::fp32;
      v.plan.base_precision = *dtype(format);
      const std::unique_ptr<Backend> cpu = make_cpu(Number::f32, true);
      Transformer coded(arch, *cpu, {.plan = v.plan, .coded = true}, 7);
      test::scramble(coded, 11);
      Transformer plain(arch, *cpu, {.plan = v.plan}, std::nullopt);
      std::size_t codes = 0;
      for (Parameter& p : plain.weights().all()) {
        const Parameter& same = *coded.weights().find(-1, p.shape.name);
        codes += same.format ? 1 : 0;
        std::vector<double> numbers(static_cast<std::size_t>(p.elements()));
        cpu->read(numbers, coded.weights().numbers(&same), false);
        plain.weights().set(p, numbers);
      }
      CHECK(codes > 10);
      coded.weights().make_trainable(v.plan);
      plain.weights().make_trainable(v.plan);
      const Batch batch = test::tiny_batch(arch, v.plan, 5);
      CHECK(coded.gradients(batch, 1, nullptr) == plain.gradients(batch, 1, nullptr));
      CHECK(test::identical(test::gradients(coded), test::gradients(plain)));
    }
}
