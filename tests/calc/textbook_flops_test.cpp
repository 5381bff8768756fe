#include "calc/textbook/flops.hpp"

#include <algorithm>

#include "calc/cost/cost.hpp"
#include "calc/textbook/inference.hpp"
#include "calc/textbook/parameters.hpp"
#include "calc/textbook/seeds.hpp"
#include "tests/calc/textbook_archs.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::textbook;

namespace {

/// Counts the pairs one by one: query i of S after `past`, keys 1 .. past + i, at most the last `window`.
Count counted_pairs(Count seq, Count past, Count window) {
  Count n = 0;
  for (Count i = 1; i <= seq; ++i)
    for (Count key = 1; key <= past + i; ++key)
      if (window == 0 || key > past + i - window) ++n;
  return n;
}

const GptStep gpt3_step{.batch = 1536, .seq = 2048, .layers = 96, .hidden = 12288, .vocabulary = 51200};

Arch gpt3_padded() {
  Arch a = test::gpt3();
  a.vocabulary = 51200;
  return a;
}

}  // namespace

TEST_CASE("exact query-key pair counts match a brute-force count", "[textbook]") {
  const Count seq = GENERATE(1, 2, 7, 16), past = GENERATE(0, 1, 5, 20), window = GENERATE(0, 1, 4, 7, 100);
  CHECK(attention_pairs(AttentionFlops::causal_exact, seq, past, {window}) ==
        Fraction(counted_pairs(seq, past, window)));
}

TEST_CASE("within chunks, the closed form and the engine count the same pairs under every convention", "[textbook]") {
  const Count seq = GENERATE(1, 2, 7, 16), past = GENERATE(0, 1, 5, 20), chunk = GENERATE(1, 4, 7, 100);
  const auto pairs = GENERATE(AttentionFlops::full, AttentionFlops::causal_half, AttentionFlops::causal_exact);
  const Reach reach{chunk, true};
  CHECK(Fraction(2) * attention_pairs(pairs, seq, past, reach) == Fraction(twice_pairs(seq, past, reach, pairs)));
}

TEST_CASE("causal-half counts half the square of new tokens, and causal-exact adds half the diagonal", "[textbook]") {
  const Count seq = GENERATE(1, 6, 7), past = GENERATE(0, 3);
  CHECK(attention_pairs(AttentionFlops::full, seq, past) == Fraction(seq * (seq + past)));
  CHECK(attention_pairs(AttentionFlops::causal_half, seq, past) == Fraction(Exact(seq) * seq + 2 * seq * past, 2));
  CHECK(attention_pairs(AttentionFlops::causal_half, seq, past) + Fraction(Exact(seq), 2) ==
        attention_pairs(AttentionFlops::causal_exact, seq, past));
}

TEST_CASE("a window wider than the sequence has no effect", "[textbook]") {
  const auto pairs = GENERATE(AttentionFlops::full, AttentionFlops::causal_half, AttentionFlops::causal_exact);
  CHECK(attention_pairs(pairs, 9, 4, {13}) == attention_pairs(pairs, 9, 4));
  CHECK(attention_pairs(pairs, 9, 4, {12}).value() < attention_pairs(pairs, 9, 4).value());
}

TEST_CASE("a tiny Llama's forward FLOPs match a hand count", "[textbook]") {
  const ForwardFlops f = forward_flops(test::tiny_llama(), {.batch = 2, .seq = 3});
  const Count layer = 26 * 30 + 2 * 26 * 15 + 30 * 26 + 3 * 26 * 37;
  CHECK(f.linear == Flops(2 * 6 * 2 * layer));
  CHECK(f.core == Flops(2 * 2 * 2 * 2 * 6 * 5 * 9));  // layers, QK and AV, batch, 2 FLOPs, 6 heads of width 5, 9 pairs
  CHECK(f.head == Flops(2 * 6 * 26 * 103));
  CHECK(forward_flops(test::tiny_llama(), {.batch = 2, .seq = 3, .head = Head::last}).head == Flops(2 * 2 * 26 * 103));
  CHECK(forward_flops(test::tiny_llama(), {.batch = 2, .seq = 3, .head = Head::none}).head == Flops(0));
}

TEST_CASE("absorbing latent projections raises the cost of query-key pairs, but not of projections", "[textbook]") {
  const Arch a = test::tiny_latent();
  const ForwardFlops expanded = forward_flops(a, {.batch = 1, .seq = 1, .past = 9});
  const ForwardFlops absorbed = forward_flops(a, {.batch = 1, .seq = 1, .past = 9, .absorbed = true});
  CHECK(expanded.core == Flops(2 * 2 * 6 * (5 + 2 + 3) * 10));
  CHECK(absorbed.core == Flops(2 * 2 * 6 * (13 + 2 + 13) * 10));
  CHECK(absorbed.linear == expanded.linear);
}

TEST_CASE("a chunked prompt costs as much as a single pass", "[textbook]") {
  const auto arch = GENERATE(as<Arch (*)()>{}, test::tiny_llama, test::tiny_latent, test::tiny_moe);
  const auto forward = [&](Count seq, Count past) {
    return forward_flops(arch(), {.batch = 3, .seq = seq, .past = past, .pairs = AttentionFlops::causal_exact});
  };
  const Flops chunks = forward(5, 0).total() + forward(4, 5).total() + forward(8, 9).total();
  CHECK(chunks == forward(17, 0).total());
}

TEST_CASE("decoding token by token costs as much as a prefill under the exact count", "[textbook]") {
  Arch arch = test::tiny_llama();
  const Reach reach = GENERATE(as<Reach>{}, Reach{}, Reach{4}, Reach{5, true});
  if (reach.limited()) arch.local = {reach, LayerSet::every(0, 2, arch.layers)};
  Flops steps;
  for (Count c = 1; c <= 12; ++c) steps += decode_flops(arch, 3, c, false);
  CHECK(steps == forward_flops(arch, {.batch = 3, .seq = 12, .pairs = AttentionFlops::causal_exact}).total());
}

TEST_CASE("only layers with a sliding window save FLOPs", "[textbook]") {
  Arch a = test::tiny_llama();
  const PassShape pass{.batch = 1, .seq = 8, .pairs = AttentionFlops::causal_exact};
  const Flops full = forward_flops(a, pass).core;
  a.local = {{3}, LayerSet::every(0, 1, 1)};
  CHECK(forward_flops(a, pass).core == Flops(2 * 2 * 6 * 5 * (36 + 21)));
  a.local.reach.chunked = true;  // 6 + 6 + 3 pairs
  CHECK(forward_flops(a, pass).core == Flops(2 * 2 * 6 * 5 * (36 + 15)));
  CHECK(full == Flops(2 * 2 * 6 * 5 * (36 + 36)));
}

TEST_CASE("linear attention costs a state update and a state read per token at any length", "[textbook]") {
  Arch a = test::tiny_llama();
  a.linear_layers = LayerSet::all(a.layers);
  const Count matrices = matmul_parameters(a) - head_matmul_parameters(a);
  const ForwardFlops f = forward_flops(a, {.batch = 1, .seq = 8}),
                     later = forward_flops(a, {.batch = 1, .seq = 8, .past = 100});
  CHECK(f.linear == Flops(2 * 8 * matrices + 2 * 8 * 4 * 6 * 5 * 5));
  CHECK(later.linear == f.linear);
  CHECK(f.core == Flops(0));
}

TEST_CASE("Megatron's formula equals the sum over GPT-3's parts, including the head", "[textbook]") {
  const ForwardFlops f = forward_flops(gpt3_padded(), {.batch = 1536, .seq = 2048});
  CHECK(megatron_flops(gpt3_step, Recompute::none) == train_flops(f));
  CHECK(megatron_flops(gpt3_step, Recompute::full) == train_flops(f, Recompute::full));
  CHECK(megatron_flops(gpt3_step, Recompute::selective) == train_flops(f, Recompute::selective));
}

TEST_CASE("the printed formula of selective recomputation repeats the core's backward as well as its forward",
          "[textbook]") {
  // printed 24BLS^2D, exact 16: the difference is 8BLS^2D, two forward cores of 4BLS^2D
  const Flops printed = megatron_flops(gpt3_step, Recompute::selective, true);
  const Flops exact = megatron_flops(gpt3_step, Recompute::selective);
  const Flops core = forward_flops(gpt3_padded(), {.batch = 1536, .seq = 2048}).core;
  CHECK(printed - exact == 2 * core);
  CHECK(core == flops(4, 1536, 2048, 2048, 12288, 96));
}

TEST_CASE("Kaplan's forward pass is the causal half without the head, with N excluding biases and norms",
          "[textbook]") {
  const Arch a = test::tiny_llama();
  const ForwardFlops f =
      forward_flops(a, {.batch = 1, .seq = 8, .pairs = AttentionFlops::causal_half, .head = Head::none});
  const Count matrices = matmul_parameters(a) - head_matmul_parameters(a);
  CHECK(8 * kaplan_flops_per_token(matrices, a.layers * 30, 8) == f.total());
  // Kaplan's own N also counts the norms, at 2 FLOPs each
  CHECK(8 * kaplan_flops_per_token(non_embedding_parameters(a), a.layers * 30, 8) - f.total() ==
        Flops(2 * 8 * parameters(a).norm));
}

TEST_CASE("PaLM's formula is three forward passes if N counts the matmul weights", "[textbook]") {
  const Arch a = test::tiny_llama();
  const Flops full = train_flops(forward_flops(a, {.batch = 1, .seq = 8}));
  const Flops half = train_flops(forward_flops(a, {.batch = 1, .seq = 8, .pairs = AttentionFlops::causal_half}));
  CHECK(8 * palm_flops_per_token(matmul_parameters(a), 2 * 6 * 5, 8) == full);
  CHECK(8 * palm_flops_per_token(matmul_parameters(a), 2 * 6 * 5, 8, true) == half);
}

TEST_CASE("6 N D omits the attention core and counts parameters outside of matmuls", "[textbook]") {
  const Arch a = test::llama3_8b();
  const Count tokens = 8192;
  const ForwardFlops f = forward_flops(a, {.batch = 1, .seq = tokens});
  const Count no_matmul = parameters(a).total() - matmul_parameters(a);  // token embedding and norms
  CHECK(no_matmul == 128256 * 4096 + 65 * 4096);
  CHECK(six_nd(parameters(a).total(), tokens) + 3 * f.core == train_flops(f) + six_nd(no_matmul, tokens));
}

TEST_CASE("Goon's training FLOPs are three forward passes of a GPT without its head", "[textbook]") {
  // Goon (3.2)
  Arch a = test::gpt3();
  const ForwardFlops f = forward_flops(a, {.batch = 2, .seq = 2048, .head = Head::none});
  CHECK(seed_train_flops(2, 96, 2048, 12288, 4) == 3 * f.total());
  CHECK(attention_flops_share(2048, 12288, 4).value() ==
        Approx(static_cast<double>(f.core.value) / static_cast<double>(f.total().value)));
}

TEST_CASE("recomputation and flash attention's backward each repeat a forward pass of their operators", "[textbook]") {
  const ForwardFlops f{Flops(100), Flops(40), Flops(7)};
  CHECK(train_flops(f) == Flops(3 * 147));
  CHECK(train_flops(f, Recompute::none, Flops(20)) == Flops(3 * 147 + 20));
  CHECK(train_flops(f, Recompute::selective) == Flops(3 * 147 + 40));
  CHECK(train_flops(f, Recompute::full) == Flops(3 * 147 + 140));
  CHECK(train_flops(f, Recompute::full, Flops(20)) == Flops(4 * 100 + 4 * 40 + 20 + 3 * 7));
}

TEST_CASE("a linear layer's backward is twice its forward, or equal to it without the input's gradient", "[textbook]") {
  // Goon §3.1 obtains 5 t I J
  CHECK(linear_backward_flops(3, 5, 7) == Flops(4 * 3 * 5 * 7));
  CHECK(linear_backward_flops(3, 5, 7, false) == Flops(2 * 3 * 5 * 7));
}

TEST_CASE("the FLOPs of scores and of MLPs match a count by hand", "[textbook]") {
  const PassShape pass{.batch = 2, .seq = 3};
  CHECK(scores_flops(test::tiny_llama(), pass) == Flops(2 * 2 * 2 * 6 * 5 * 9));
  CHECK(mlp_flops(test::tiny_llama(), pass) == Flops(2 * 6 * 2 * 3 * 26 * 37));
  Arch receptance = test::tiny_llama();
  receptance.mlp_shift = receptance.mlp_receptance = true;
  CHECK(mlp_flops(receptance, pass) == Flops(2 * 6 * 2 * (3 * 26 * 37 + 26 * 26)));
  CHECK(mlp_flops(test::tiny_moe(), pass) == Flops(2 * 6 * (3 * 26 * 37 + 26 * 8 + 2 * 3 * 26 * 7 + 3 * 26 * 11)));
}
