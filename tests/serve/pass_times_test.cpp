// Pass times from prices and from tables.

#include "serve/times/pass_times.hpp"

#include "tests/calc/engine_archs.hpp"
#include "tests/catch.hpp"
#include "tests/serve/even_times.hpp"
#include "tests/serve/fast_card.hpp"

using namespace llmcalc;

namespace {

PassWork decoding(Count n, Count context) {
  PassWork w;
  w.decoding = w.decoded = w.sampled = n;
  w.decodes[0] = {n, n * context, n * context};
  return w;
}
PassWork prompt(Count tokens) {
  PassWork w;
  w.prompt_tokens = tokens;
  w.chunks = w.sampled = 1;
  w.prompts[0] = chunk_work(0, tokens, {});
  return w;
}

}  // namespace

TEST_CASE("a pass of decoding sequences takes the time of a decode step", "[pass-times]") {
  const Arch arch = test::llama31_8b();
  const Plan plan;
  const PassTimes times = pass_times(arch, plan, {}, test::fast_card());
  for (const Count batch : {1, 8, 64, 256}) {
    const PassTime step = decode(arch, with_batch(plan, batch), {}, test::fast_card(), 3000);
    CHECK(seconds(times.pass(decoding(batch, 3000))).value == Approx(step.estimate.total().value).epsilon(1e-9));
  }
}

TEST_CASE("a pass of one prompt takes the time of a prefill", "[pass-times]") {
  const Arch arch = test::llama31_8b();
  const Plan plan = with_batch({}, 1);
  const PassTimes times = pass_times(arch, plan, {}, test::fast_card());
  for (const Count tokens : {1024, 2048, 8192}) {
    const PassTime pass = prefill(arch, plan, {}, test::fast_card(), tokens);
    CHECK(seconds(times.pass(prompt(tokens))).value == Approx(pass.estimate.total().value).epsilon(1e-6));
  }
}

TEST_CASE("pass times with windows, experts, latent and linear attention match the engine", "[pass-times]") {
  Arch window = test::llama31_8b(), linear = window;
  window.local = {.reach = {.tokens = 1024}, .layers = LayerSet::every(0, 2, window.layers)};
  linear.linear_layers = LayerSet::every(1, 2, linear.layers);
  for (const Arch& arch : {window, linear, test::even_moe(), test::even_latent()}) {
    const PassTimes times = pass_times(arch, {}, {}, test::fast_card());
    PassWork w = decoding(16, 3000);
    w.decodes[1] = {16, 16 * 1024, 16 * 1024};
    const PassTime step = decode(arch, with_batch({}, 16), {}, test::fast_card(), 3000);
    CHECK(seconds(times.pass(w)).value == Approx(step.estimate.total().value).epsilon(1e-6));
    PassWork p = prompt(4096);
    p.prompts[1] = chunk_work(0, 4096, arch.local.reach);
    const PassTime pass = prefill(arch, with_batch({}, 1), {}, test::fast_card(), 4096);
    CHECK(seconds(times.pass(p)).value == Approx(pass.estimate.total().value).epsilon(1e-6));
  }
}

namespace {

Arch with_modules(Count n) {
  Arch a = test::llama31_8b();
  a.mtp = {.modules = n, .mixer_of = 31, .mlp_of = 31, .own_norm = true};
  return a;
}
Plan drafting(Count modules, Count batch) {
  Plan p = with_batch({}, batch);
  p.mtp = modules;
  return p;
}
/// n sequences that verify `drafts` drafted tokens and draft the same number.
PassWork verifying(Count n, Count context, Count drafts) {
  PassWork w;
  w.decoding = w.drafting = n;
  w.decoded = w.sampled = n * (1 + drafts);
  w.decodes[0] = n * chunk_work(context - 1, 1 + drafts, {});
  return w;
}

}  // namespace

TEST_CASE("a pass that verifies and drafts with MTP modules takes as long as the engine's step", "[pass-times][mtp]") {
  for (const Count modules : {1, 3}) {
    const Arch arch = with_modules(modules);
    const Plan plan = drafting(modules, 1);
    const PassTimes times = pass_times(arch, plan, {}, test::fast_card(), {.drafts = modules});
    for (const Count n : {1, 16, 64}) {
      const PassEstimate step = drafted(arch, drafting(modules, n), {}, test::fast_card(), 3000);
      CHECK(seconds(times.pass(verifying(n, 3000, modules))).value ==
            Approx(step.estimate.total().value).epsilon(1e-6));
    }
    PassWork w = prompt(4096);
    w.drafting = 1;
    const PassTime pass = prefill(arch, plan, {}, test::fast_card(), 4096);
    CHECK(seconds(times.pass(w)).value == Approx(pass.estimate.total().value).epsilon(1e-6));
  }
}

TEST_CASE("each draft beyond the number of MTP modules reruns the last module for one row per sequence",
          "[pass-times][mtp]") {
  const Arch arch = with_modules(1);
  const auto drafts = [&](Count n) {
    return pass_times(arch, drafting(1, 1), {}, test::fast_card(), {.drafts = n}).drafts.at(8);
  };
  const Ticks more = drafts(2) - drafts(1);
  CHECK(more > drafts(1));  // a layer and a head; the first draft is only a head
  CHECK(seconds(drafts(5) - drafts(1)).value == Approx(4 * seconds(more).value).epsilon(1e-9));
  CHECK(pass_times(arch, drafting(0, 1), {}, test::fast_card()).drafts.at(8) == 0);
}

TEST_CASE("between table knots, pass times are within 2 % of the engine's step", "[pass-times]") {
  const Arch arch = test::llama31_8b();
  const PassTimes times = pass_times(arch, {}, {}, test::fast_card());
  for (const Count batch : {3, 11, 45, 90, 150, 210, 300, 350, 410, 500}) {
    const PassTime step = decode(arch, with_batch({}, batch), {}, test::fast_card(), 1000);
    CHECK(seconds(times.pass(decoding(batch, 1000))).value == Approx(step.estimate.total().value).epsilon(0.02));
  }
}

TEST_CASE("the time of consecutive passes is their sum, even if the limiting time bound changes", "[pass-times]") {
  PassTimes t = test::even_times();
  t.decodes[0].push({.constant = 5000});
  t.decodes[0].push({.constant = 100, .key = 7});
  t.decodes[0].push({.query = 3, .pair = 9});
  const PassWork first = decoding(5, 30);
  const CoreGrowth growth{CoreWork{0, 5, 5}, CoreWork{}};
  Ticks sum = 0;
  for (Count n = 1; n < 300; ++n) {
    sum += t.pass(grown(first, growth, n - 1));
    REQUIRE(t.passes(first, growth, n) == sum);
  }
}

TEST_CASE("a pass time is linear between table knots and beyond the last one", "[pass-times]") {
  const PassRowTimes t({{1, 100}, {3, 200}, {7, 1000}});
  CHECK(t.at(0) == 0);
  CHECK(t.at(1) == 100);
  CHECK(t.at(2) == 150);
  CHECK(t.at(5) == 600);
  CHECK(t.at(9) == 1400);
}

TEST_CASE("chunks of a prompt together score all of its query-key pairs", "[pass-times]") {
  CHECK(chunk_work(0, 100, {}).pairs == 5050);
  CHECK(chunk_work(60, 40, {}).pairs + chunk_work(0, 60, {}).pairs == 5050);
  CHECK(chunk_work(60, 40, {}).keys == 100);
  const Reach window{.tokens = 16};
  CHECK(chunk_work(60, 40, window).pairs == 40 * 16);
  CHECK(chunk_work(60, 40, window).keys == 55);  // the last 15 keys before the chunk, and the chunk's own keys
}
