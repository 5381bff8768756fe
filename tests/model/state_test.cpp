// Recurrences: chunked and sequential forms, prompts in parts, and rejected plans.

#include "tests/catch.hpp"
#include "tests/model/differences.hpp"
#include "tests/model/emulated.hpp"
#include "tests/models/hybrids.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Numbers;

namespace {

/// A Llama with the recurrence in its first layer.
test::Variant hybrid(const Recurrent& r) {
  test::Variant v{"hybrid", test::tiny_llama(), test::tiny_plan()};
  LayerMixer m;
  m.attention = AttentionKind::none;
  m.recurrent = r;
  m.layers = LayerSet::every(0, 2, 2);
  v.arch.mixers.push(m);
  v.plan.seq = 11;
  return v;
}

using Sized = Recurrent (*)(Count chunk);
constexpr Sized in_chunks[] = {test::mamba2, test::gated_delta_net, test::kimi_delta, test::mamba_heads,
                               test::mlstm,  test::rwkv6,           test::rwkv5};

std::string sentence(const Arch& arch, Backend& backend) {
  try {
    const Transformer t(arch, backend, {.plan = test::tiny_plan()}, 1);
  } catch (const InputError& e) {
    return e.what();
  }
  return "nothing was rejected";
}

}  // namespace

TEST_CASE("recurrent layers in chunks of any size have the loss and gradients of the sequential form", "[state]") {
  for (const Sized sized : in_chunks) {
    const Numbers one = test::loss_and_gradients(hybrid(sized(0)), Number::f64, true);
    for (const Count chunk : {2, 4, 11, 64}) {
      INFO(name(sized(0).kind) << " in chunks of " << chunk);
      CHECK(test::difference(test::loss_and_gradients(hybrid(sized(chunk)), Number::f64, true), one) < 1e-12);
    }
  }
}

TEST_CASE("a recurrent state that decays almost completely within a chunk stays finite", "[state]") {
  for (const Sized sized : in_chunks) {
    const test::Variant v = hybrid(sized(8));
    test::Run r(v, Number::f32);
    for (Parameter& p : r.t.weights().all())
      if (p.shape.name.ends_with("log_decay"))
        r.t.weights().set(p, Numbers(static_cast<std::size_t>(p.elements()), 5));  // e^-148 times the step size
    r.make_trainable();
    CHECK(std::isfinite(r.t.gradients(test::tiny_batch(v.arch, v.plan, 5), 1, nullptr)));
    const Numbers all = test::gradients(r.t);
    CHECK(std::all_of(all.begin(), all.end(), [](double g) { return std::isfinite(g); }));
  }
}

TEST_CASE("a prompt processed in parts of any length leaves the same states as the whole prompt", "[state]") {
  for (const Recurrent& r : {test::short_convolution(), test::mamba(), test::mamba2(4), test::gated_delta_net(4),
                             test::kimi_delta(4), test::mamba_heads(4), test::rg_lru(), test::mlstm(0), test::mlstm(4),
                             test::rwkv6(0), test::rwkv6(4), test::rwkv5(4)}) {
    const test::Variant v = hybrid(r);
    test::Run run(v, Number::f64);
    const std::vector<std::int64_t> ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
    const Numbers whole = run.t.logits(ids, 1, 0, nullptr);
    for (const Count first : {1, 2, 5, 9}) {
      INFO(name(r.kind) << ", the first " << first);
      Cache cache = run.t.make_cache(1, 10);
      run.t.logits(std::span(ids).first(static_cast<std::size_t>(first)), 1, 0, &cache);
      CHECK(test::difference(run.t.logits(std::span(ids).subspan(static_cast<std::size_t>(first)), 1, first, &cache),
                             whole) < 1e-12);
    }
  }
}

TEST_CASE("gradients of mLSTM pass through the normalizer where it exceeds 1", "[state]") {
  for (const Count chunk : {0, 4}) {
    const test::Variant v = hybrid(test::mlstm(chunk));
    test::Run r(v, Number::f64);
    Parameter& queries = r.t.weights().at(0, "mlstm.q.weight");
    Numbers large = r.t.weights().get(queries.value, queries.elements(), false);
    for (double& x : large) x *= 40;
    r.t.weights().set(queries, large);
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    const double loss = r.t.loss(batch);
    Numbers larger = large;
    for (double& x : larger) x *= 1e6;
    r.t.weights().set(queries, larger);
    // Where the normalizer exceeds 1, outputs do not grow with the queries.
    CHECK(std::abs(r.t.loss(batch) / loss - 1) < 0.05);
    r.t.weights().set(queries, large);
    r.make_trainable();
    r.t.gradients(batch, 1, nullptr);
    for (Parameter& p : r.t.weights().all()) {
      if (p.shape.name.find("mlstm.") == std::string::npos) continue;
      const test::Differences d = test::Probe(r.t, p, batch).differences();
      INFO(p.shape.name << ", gradient " << std::sqrt(d.gradient) << ", difference " << std::sqrt(d.difference));
      CHECK(d.gradient > 0);
      CHECK(std::sqrt(d.difference) < 1e-5 * std::sqrt(d.gradient) + 1e-9);
    }
  }
}

TEST_CASE("a recurrent cache can be reused for another sequence", "[state]") {
  for (const Recurrent& r : {test::short_convolution(), test::mamba2(0), test::gated_delta_net(4), test::rg_lru(),
                             test::mlstm(0), test::rwkv6(0)}) {
    test::Run run(hybrid(r), Number::f32, true);
    const std::vector<std::int64_t> one{3, 1, 4}, other{2, 7, 1};
    Cache cache = run.t.make_cache(1, 4), fresh = run.t.make_cache(1, 4);
    run.t.logits(one, 1, 0, &cache);
    CHECK(test::identical(run.t.logits(other, 1, 0, &cache), run.t.logits(other, 1, 0, &fresh)));
    CHECK(test::identical(run.t.logits(one, 1, 3, &cache), run.t.logits(one, 1, 3, &fresh)));
  }
}

TEST_CASE("states of two bytes, chunked Mamba-1 scans, and operators without GPU kernels are rejected", "[state]") {
  Arch arch = hybrid(test::mamba2(0)).arch;
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f32, true);
  arch.mixers[0].recurrent.state_bytes = 2;
  CHECK(sentence(arch, *cpu) ==
        "the reference transformer supports only float32 recurrent states, but this model's states have 2 bytes per "
        "element; set \"state_bytes\": 4");
  arch.mixers[0].recurrent = test::mamba();
  arch.mixers[0].recurrent.chunk = 64;
  CHECK(sentence(arch, *cpu) == "the reference transformer scans Mamba-1 channels token by token; omit \"chunk\"");
  arch = hybrid(test::mamba2(0)).arch;
  Arch bent = test::tiny_gpt();
  bent.activation = Activation::xielu;
  for (const test::MakeBackend make : test::gpus()) {
    const std::unique_ptr<Backend> gpu = make(Number::f32, true);
    CHECK(sentence(arch, *gpu) ==
          "the CUDA kernels do not support mamba2, which this model's layers use; use "
          "--device cpu");
    CHECK(sentence(bent, *gpu) ==
          "the CUDA kernels do not support xIELU, which this model's layers use; use --device "
          "cpu");
  }
}
