// Training options: memory, FLOPs and operator order are as predicted, and gradients match the loss.

#include "model/documents.hpp"
#include "tests/model/contract.hpp"
#include "tests/model/differences.hpp"
#include "tests/model/frozen.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// Documents of 1, 2 and 3 tokens, which fill a sequence of tiny_plan().
Documents packed() {
  Documents all;
  for (const Count length : {1, 2, 3}) all.push({.count = 1, .length = length});
  return all;
}

/// Compares training with its prediction in float32 and bfloat16.
void train_in_both(const test::Variant& v) {
  test::train_as_predicted(test::in_format(v, dtypes::fp32), *make_cpu(Number::f32, true));
  test::train_as_predicted(test::in_format(v, dtypes::bf16), *make_cpu(Number::bf16, true));
}

/// Whether any parameters are trained.
bool trains_some(const test::Variant& v) {
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f32);
  Transformer t(v.arch, *cpu, {.plan = v.plan}, 7);
  t.weights().make_trainable(v.plan);
  return !t.weights().trained().empty();
}

}  // namespace

TEST_CASE("training on packed sequences matches its prediction exactly", "[contract][options]") {
  for (test::Variant v : test::variants()) {
    if (!keeps_documents_apart(v.arch)) continue;
    INFO(v.name);
    v.plan.documents = packed();
    train_in_both(v);
  }
}

TEST_CASE("gradients of packed sequences equal central differences", "[gradient][options]") {
  for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama(), test::tiny_deepseek()})
    for (const AttentionImpl core : {AttentionImpl::flash, AttentionImpl::naive}) {
      test::Variant v{"packed", arch, test::tiny_plan()};
      v.arch.local = {.reach = {2}, .layers = LayerSet::every(0, 2, arch.layers)};
      v.plan.attention = core;
      v.plan.documents = packed();
      test::check_gradients(v, {});
    }
}

TEST_CASE("training with frozen parts matches its prediction exactly", "[contract][options]") {
  std::size_t n = 0;
  for (test::Variant v : test::trained_in_part())
    for (const test::FrozenChoice& c : test::frozen_choices(v.arch)) {
      INFO(v.name << " without " << c.name);
      v.plan.frozen = c.frozen;
      if (!trains_some(v)) continue;
      test::train_as_predicted(test::in_format(v, dtypes::fp32), *make_cpu(Number::f32, true));
      ++n;
    }
  CHECK(n > 300);
}

TEST_CASE("training with frozen parts matches its prediction for every optimizer and recomputation mode",
          "[contract][options]") {
  for (const Arch& arch : {test::tiny_gpt(), test::tiny_llama(), test::tiny_deepseek()})
    for (const test::FrozenChoice& c : test::frozen_choices())
      for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adafactor, Optimizer::muon, Optimizer::adam8bit})
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
          test::Variant v{c.name, arch, test::tiny_plan()};
          v.arch.tied_head = false;
          v.plan.frozen = c.frozen;
          v.plan.optimizer = optimizer;
          v.plan.recompute = recompute;
          INFO(c.name << ", " << static_cast<int>(optimizer) << ", recompute " << static_cast<int>(recompute));
          test::train_as_predicted(test::in_format(v, dtypes::bf16), *make_cpu(Number::bf16, true));
        }
}

TEST_CASE("adapter training matches its prediction exactly, with frozen matrices in every format",
          "[contract][options]") {
  std::size_t turn = 0;
  constexpr std::array formats{"fp32", "nf4-dq", "int8", "mxfp4", "fp8", "nf4", "gptq-g32"};
  for (test::Variant v : test::trained_in_part())
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::muon, Optimizer::adafactor}) {
      v = test::in_format(v, dtypes::fp32);
      v.plan.lora_rank = 2;
      v.plan.optimizer = optimizer;
      v.plan.base_precision = *dtype(formats[turn++ % formats.size()]);
      INFO(v.name << ", turn " << turn);
      test::train_as_predicted(v, *make_cpu(Number::f32, true));
    }
}

TEST_CASE("training with chunked logits matches its prediction exactly", "[contract][options]") {
  for (test::Variant v : test::variants()) {
    if (v.plan.mtp > 0 || v.arch.head.exit_gate) continue;
    INFO(v.name);
    for (const Count chunks : {2, 5, 12, 40}) {
      v.plan.logits.chunks = chunks;
      train_in_both(v);
    }
  }
}

TEST_CASE("with chunked logits, training of adapters or of only the head matches its prediction",
          "[contract][options]") {
  for (test::Variant v : test::trained_in_part()) {
    INFO(v.name);
    v.plan.logits.chunks = 4;
    v.plan.lora_rank = 2;
    v.plan.base_precision = dtypes::fp32;
    test::train_as_predicted(test::in_format(v, dtypes::fp32), *make_cpu(Number::f32, true));
    v.plan.lora_rank = 0;
    v.plan.frozen = test::frozen_choices()[6].frozen;
    if (trains_some(v)) test::train_as_predicted(test::in_format(v, dtypes::fp32), *make_cpu(Number::f32, true));
  }
}

TEST_CASE("chunked logits give the same loss and gradients as whole logits", "[options]") {
  for (test::Variant v : test::variants()) {
    if (v.plan.mtp > 0 || v.arch.head.exit_gate) continue;
    INFO(v.name);
    const test::Numbers whole = test::loss_and_gradients(v, Number::f64, true);
    for (const Count chunks : {2, 5, 12}) {
      v.plan.logits.chunks = chunks;
      CHECK(test::difference(test::loss_and_gradients(v, Number::f64, true), whole) < 1e-13);
    }
  }
}

TEST_CASE("chunked logits skip tokens without a target and support capped logits", "[options]") {
  const test::Variant v{"", test::tiny_llama(), test::tiny_plan()};
  Batch batch = test::tiny_batch(v.arch, v.plan, 5);
  for (const std::size_t i : {0U, 1U, 7U}) batch.targets[i] = -1;  // the first of six chunks has no targets
  const auto run = [&](Count chunks) {
    const std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
    Plan plan = v.plan;
    plan.logits.chunks = chunks;
    Transformer t(v.arch, *cpu, {.plan = plan, .numerics = {.logit_cap = 2}}, 11);
    test::scramble(t, 11);
    t.weights().make_trainable(plan);
    test::Numbers all{t.gradients(batch, 1, nullptr)};
    const test::Numbers g = test::gradients(t);
    all.insert(all.end(), g.begin(), g.end());
    return all;
  };
  CHECK(test::difference(run(6), run(1)) < 1e-13);
}

TEST_CASE("training with 2-byte gradients matches its prediction exactly", "[contract][options]") {
  for (test::Variant v : test::variants()) {
    INFO(v.name);
    v.plan.gradient_bytes = 2;
    test::train_as_predicted(test::in_format(v, dtypes::bf16), *make_cpu(Number::bf16, true));
    test::train_as_predicted(test::in_format(v, dtypes::fp16), *make_cpu(Number::f16, true));
  }
}

TEST_CASE("2-byte gradients equal float32 gradients rounded at each addition", "[options]") {
  for (test::Variant v : test::variants()) {
    v.plan.mtp = 0;
    INFO(v.name);
    test::Run wide(v, Number::bf16, true);
    wide.make_trainable();
    v.plan.gradient_bytes = 2;
    test::Run rounded(v, Number::bf16, true);
    rounded.make_trainable();
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    for (test::Run* r : {&wide, &rounded}) r->t.weights().zero_gradients();
    CHECK(wide.t.gradients(batch, 1, nullptr) == rounded.t.gradients(batch, 1, nullptr));
    for (const Parameter* p : rounded.t.weights().trained()) {
      const std::vector<double> exact = wide.t.weights().gradient(*wide.t.weights().find(-1, p->shape.name));
      const std::vector<double> mine = rounded.t.weights().gradient(*p);
      INFO(p->shape.name);
      if (test::norm(exact) > 0) CHECK(test::difference(mine, exact) < 0.02);
    }
  }
}

TEST_CASE("a model learns with 2-byte gradients and float16 moments", "[options]") {
  test::Variant v{"", test::tiny_llama(), test::tiny_plan()};
  v.plan.gradient_bytes = 2;
  v.plan.state_precision = dtypes::fp16;
  test::Run r(v, Number::bf16, true);
  r.make_trainable();
  const std::vector<Batch> batches{test::tiny_batch(v.arch, v.plan, 5), test::tiny_batch(v.arch, v.plan, 6)};
  const double before = r.t.loss(batches[0]) + r.t.loss(batches[1]);
  for (int i = 0; i < 30; ++i) r.t.train(batches, {.rate = 1e-2});
  CHECK(r.t.loss(batches[0]) + r.t.loss(batches[1]) < before - 1);
}
