// FLOPs of passes: chunks, steps and ranks add up, and repeated work is listed.

#include "calc/train.hpp"

#include "calc/infer.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/estimates.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

const Pricing exact{.convention = AttentionFlops::causal_exact};

Work pass(const Arch& a, Count sequences, Count queries, Count past, bool absorbed = false, const Pricing& p = exact) {
  return forward_work(a, {.sequences = sequences, .queries = queries, .past = past, .absorbed = absorbed}, p);
}

Arch windowed() {
  Arch a = even();
  a.layers = 5;
  a.local = {{7}, LayerSet::every(0, 2, 5)};
  return a;
}
Arch lightning() {
  Arch a = even();
  a.layers = 5;
  a.linear_layers = LayerSet::every(0, 2, 5);
  return a;
}

Plan step(Recompute r, AttentionFlops c, AttentionImpl impl) {
  Plan p;
  p.seq = 24;
  p.micro_batch = p.global_batch = 2;
  p.recompute = r;
  p.attention_flops = c;
  p.attention = impl;
  return p;
}

}  // namespace

TEST_CASE("a block's FLOPs match a hand count", "[cost][work]") {
  // 2 sequences of 3 tokens, D 13, 3 heads of width 5 over 1 KV head, F 17, V 19; 6 pairs per sequence.
  const Work w = forward_work(prime_gqa(), {.sequences = 2, .queries = 3, .training = true}, exact);
  CHECK(w.linear == Flops(2 * 6 * (13 * 15 + 2 * 13 * 5 + 15 * 13 + 2 * 13 * 17)));
  CHECK(w.core == Flops(2 * 3 * 4 * 5 * 6));
  CHECK(w.head == Flops(2 * 6 * 13 * 19));
}

TEST_CASE("a mixture of experts counts the FLOPs of router, top_k experts and shared experts", "[cost][work]") {
  const Flops attention(2 * 6 * (13 * 15 + 2 * 13 * 5 + 15 * 13));
  const Work w = forward_work(prime_moe(), {.sequences = 2, .queries = 3, .training = true}, exact);
  CHECK(w.linear == attention + Flops(2 * 6 * (13 * 7 + 2 * 3 * 13 * 11 + 3 * 13 * 6 + 13)));
}

TEST_CASE("latent attention's FLOPs match the formula sheet, expanded and absorbed", "[cost][work]") {
  const Count t = 6, mlp = 3 * 13 * 17;
  const Count q = 13 * 11 + 11 * 3 * 7, down = 13 * 9, out = 9 * 13;
  Work w = pass(prime_latent(), 2, 3, 0);
  CHECK(w.linear == Flops(static_cast<Int128>(2 * t * (q + down + 7 * 3 * (5 + 3) + out + mlp))));
  CHECK(w.core == Flops(2 * 3 * 2 * (7 + 3) * 6));
  w = pass(prime_latent(), 2, 1, 4, true);
  CHECK(w.linear == Flops(static_cast<Int128>(2 * 2 * (q + down + 3 * 5 * 7 + 3 * 7 * 3 + out + mlp))));
  CHECK(w.core == Flops(2 * 3 * 2 * (7 + 2 + 7) * 5));
}

TEST_CASE("FLOPs of the chunks of a prefill add up to those of a single pass", "[contract][work]") {
  for (const Arch& a : {even(), even_moe(), even_latent(), windowed(), lightning()})
    for (const Count first : {1, 6, 7, 8, 19}) {
      const Work one = pass(a, 3, 20, 0), early = pass(a, 3, first, 0), late = pass(a, 3, 20 - first, first);
      CHECK(early.core + late.core == one.core);
      CHECK(early.linear + late.linear == one.linear);
    }
}

TEST_CASE("FLOPs of single-token decode steps add up to those of a prefill", "[contract][work]") {
  for (const Arch& a : {even(), even_moe(), even_latent(), windowed(), lightning()}) {
    Flops core, linear;
    for (Count past = 0; past < 20; ++past) {
      core += pass(a, 3, 1, past).core;
      linear += pass(a, 3, 1, past).linear;
    }
    CHECK(core == pass(a, 3, 20, 0).core);
    CHECK(linear == pass(a, 3, 20, 0).linear);
  }
}

TEST_CASE("absorbing the projections leaves the FLOPs outside the core unchanged", "[contract][work]") {
  CHECK(pass(even_latent(), 3, 1, 9, true).linear == pass(even_latent(), 3, 1, 9, false).linear);
}

TEST_CASE("backward FLOPs are exactly twice the forward FLOPs", "[contract][work]") {
  for (const Arch& a : {even(), even_moe(), even_latent(), windowed(), lightning()})
    for (const AttentionFlops c : {AttentionFlops::full, AttentionFlops::causal_half, AttentionFlops::causal_exact}) {
      const TrainingFlops f = training_flops(a, step(Recompute::none, c, AttentionImpl::flash));
      CHECK(f.backward == 2 * f.forward);
      CHECK(f.model_total == 3 * f.forward);
      CHECK(f.recompute == Flops());
      CHECK(f.hardware_total == f.model_total);
    }
}

TEST_CASE("recomputation repeats the core or the blocks, and never the head", "[contract][work]") {
  for (const Arch& a : {even(), even_moe(), even_latent(), windowed(), lightning()})
    for (const AttentionFlops c : {AttentionFlops::full, AttentionFlops::causal_half, AttentionFlops::causal_exact}) {
      const Plan p = step(Recompute::selective, c, AttentionImpl::naive);
      const Work w = forward_work(a, training_step(p), pricing(p, Phase::training));
      CHECK(training_flops(a, p).recompute == w.core);
      const TrainingFlops full = training_flops(a, step(Recompute::full, c, AttentionImpl::naive));
      CHECK(full.recompute == w.linear + w.core);
      CHECK(full.hardware_total == 4 * (w.linear + w.core) + 3 * w.head);
    }
}

TEST_CASE("executed FLOPs depend on the kernel and not on the convention", "[contract][work]") {
  for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
    const auto done = [&](AttentionFlops c, AttentionImpl i) { return training_flops(even(), step(r, c, i)).executed; };
    CHECK(done(AttentionFlops::full, AttentionImpl::naive) == done(AttentionFlops::causal_exact, AttentionImpl::naive));
    CHECK(done(AttentionFlops::full, AttentionImpl::flash) == done(AttentionFlops::causal_half, AttentionImpl::flash));
    // naive: hardware FLOPs with every pair
    CHECK(done(AttentionFlops::causal_exact, AttentionImpl::naive) ==
          training_flops(even(), step(r, AttentionFlops::full, AttentionImpl::naive)).hardware_total);
  }
}

TEST_CASE("the published formulas of a GPT step equal the sum of its operators", "[textbook][work]") {
  Arch a = gpt3_175b();
  Plan p;
  p.seq = 2048;
  p.micro_batch = p.global_batch = 3;
  const textbook::GptStep gpt{3, 2048, 96, 12288, 50257};
  using R = Recompute;
  CHECK(training_flops(a, p).model_total == textbook::megatron_flops(gpt, R::none));
  p.recompute = Recompute::full;
  CHECK(training_flops(a, p).hardware_total == textbook::megatron_flops(gpt, R::full));
  p.recompute = Recompute::selective;
  const Flops selective = training_flops(a, p).hardware_total;
  CHECK(selective == textbook::megatron_flops(gpt, R::selective));
  // As printed, the core's forward and backward are repeated instead of only its forward: 8 B S^2 D L too many.
  CHECK(selective + flops(8, 3, 2048, 2048, 12288, 96) == textbook::megatron_flops(gpt, R::selective, true));
}

TEST_CASE("PaLM's and Kaplan's formulas differ from the operators by listed terms", "[textbook][work]") {
  const Arch a = llama31_8b();
  const Parameters n = parameters(a);
  Plan p;
  p.seq = 2048;
  p.global_batch = 1;
  const Flops per_token(training_flops(a, p).model_total.value / 2048);
  // 6N counts every parameter, including the token embedding, which is looked up, and the norms, which are
  // element-wise.
  CHECK(per_token + flops(6, n.embedding + n.norm) == textbook::palm_flops_per_token(n.total, 32 * 4096, 2048));
  p.attention_flops = AttentionFlops::causal_half;
  const Flops causal(training_flops(a, p).model_total.value / 2048);
  CHECK(causal + flops(6, n.embedding + n.norm) == textbook::palm_flops_per_token(n.total, 32 * 4096, 2048, true));
  // Kaplan excludes the head and counts the norms.
  const Work w = forward_work(a, training_step(p), pricing(p, Phase::training));
  const Flops blocks((w.linear + w.core).value / 2048);
  CHECK(blocks + flops(2, n.norm) == textbook::kaplan_flops_per_token(n.non_embedding, 32 * 4096, 2048));
}

TEST_CASE("the FLOPs of a run of 10^15 tokens are exact to the last FLOP", "[contract][work]") {
  Plan p;
  p.seq = 8192;
  p.global_batch = 1;
  const Flops step_flops = training_flops(llama31_70b(), p).model_total;
  // 6 N_mm + 12 L A d_h S per token; N_mm = 70553706496 - 128256 x 8192 - 161 x 8192
  const Int128 per_token = Int128{6} * (70553706496 - 128256 * 8192 - 161 * 8192) + Int128{12} * 80 * 8192 * 8192;
  CHECK((step_flops.value == per_token * 8192));
  const Count steps = 1000000000000000 / 8192;
  CHECK(((steps * step_flops).value == per_token * 8192 * static_cast<Int128>(steps)));
}

TEST_CASE("sizes beyond 2^63 throw Overflow", "[contract][work]") {
  Plan p;
  p.seq = Count{1} << 33;
  p.global_batch = 1;
  CHECK_THROWS_AS(training_flops(even(), p), Overflow);  // twice the number of pairs: 2^67
  Arch a = even();
  a.hidden = a.embedding_width = Count{1} << 32;
  CHECK_THROWS_AS(parameters([&] {
                    Arch wide = a;
                    wide.mlp_width = Count{1} << 32;
                    return wide;
                  }()),
                  Overflow);
  a = even();
  a.heads = a.kv_heads = Count{1} << 40;
  a.head_dim = Count{1} << 30;
  CHECK_THROWS_AS(parameters(a), Overflow);
  a = even_moe();
  a.moe.shared_experts = a.moe.shared_width = Count{1} << 40;
  CHECK_THROWS_AS(parameters(a), Overflow);
}
