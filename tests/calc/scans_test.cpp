// Per-head scans of Mamba-1 (PLaMo 2), RG-LRU, mLSTM, RWKV-5 and RWKV-6: parameters, saved tensors, FLOPs, sequence
// states, and sharding across ranks.

#include "calc/cost/cost.hpp"
#include "calc/cost/held.hpp"
#include "calc/memory.hpp"
#include "calc/parallel/tensor.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/inference.hpp"
#include "calc/textbook/textbook.hpp"
#include "tests/calc/engine_archs.hpp"
#include "tests/calc/stored_check.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::test;

namespace {

constexpr Count D = 64, H = 6, P = 10, N = 7, tokens = 6;

/// Three layers of D 64 with the recurrence as their only mixer, and MLPs of width 96.
Arch of(const Recurrent& r) {
  Arch a = even();
  a.attention = AttentionKind::none;
  a.heads = a.kv_heads = 0;
  a.recurrent = r;
  a.mlp = MlpKind::plain;
  a.mlp_width = 96;
  a.norm = NormKind::layer_norm;
  a.position = Position::none;
  return a;
}
Arch mamba_heads() {
  return of({.kind = RecurrentKind::mamba,
             .heads = H,
             .head_dim = P,
             .key_heads = 1,
             .key_dim = N,
             .taps = 4,
             .rank = 5,
             .inner_norms = true});
}
Arch rg_lru() {
  return of(
      {.kind = RecurrentKind::rg_lru, .heads = H, .head_dim = P, .key_dim = 1, .taps = 4, .convolution_bias = true});
}
Arch mlstm() { return of({.kind = RecurrentKind::mlstm, .heads = H, .head_dim = P, .key_heads = H, .key_dim = N}); }
Arch rwkv6(bool moves) {
  Arch a = of({.kind = RecurrentKind::rwkv6,
               .heads = H,
               .head_dim = P,
               .key_heads = H,
               .key_dim = P,
               .rank = moves ? 5 : 0,
               .mix_rank = moves ? 3 : 0});
  a.mlp_shift = a.mlp_receptance = true;
  return a;
}
std::vector<Arch> all() { return {mamba_heads(), rg_lru(), mlstm(), rwkv6(true), rwkv6(false)}; }

OpList layer(const Arch& a) {
  return block_ops(a, layer_kinds(a)[0], {.sequences = 1, .queries = tokens, .training = true});
}

}  // namespace

// Saved inputs: of the low-rank projection of the mixing coefficients, five matmuls with a mixed input each, the
// decay's second matmul and the output; of the MLP's two matmuls with a mixed input each and its third. Also the
// gradients of all results.
TEST_CASE("every matmul after a token shift holds its mixed input until its deferred weight gradient",
          "[engine][scan]") {
  constexpr Count W = H * P, F = 96, R = 5, M = 5 * 3;
  Plan p;
  p.seq = tokens;
  p.micro_batch = p.global_batch = 1;
  const Count mixer = (D + M + 5 * D + R + W) + (M + 5 * D + 4 * W + R + W + D);
  const Count mlp = (2 * D + F) + (F + D + D);
  CHECK(price(rwkv6(true), p, {}, {}).layer(0).for_weights == Bytes(2 * tokens * (mixer + mlp)));
}

TEST_CASE("parameter counts of layers with scans match their modules", "[engine][scan]") {
  constexpr Count W = H * P;
  // x, gate, out; the convolution; step, B, C; the step of each head and its bias, A, D; norms.
  CHECK(parameters(mamba_heads()).attention == 3 * (3 * D * W + 4 * W + W * (5 + 2 * N) + 5 * H + 3 * H + 5 + 2 * N));
  // x, gate, out and their biases; the convolution and its bias; two gates of H blocks, their biases; the decays.
  CHECK(parameters(rg_lru()).attention == 3 * (3 * D * W + 2 * W + D + 5 * W + 2 * (H * P * P + W) + W));
  // q, k; v, gate, out; two gates per head with biases; a norm of each head.
  CHECK(parameters(mlstm()).attention == 3 * (2 * D * H * N + 3 * D * W + 2 * (D * H + H) + W));
  // Mixing coefficients; r, k, v, gate, out; low-rank projections of mixes and decays; bias, bonus; head norms.
  CHECK(parameters(rwkv6(true)).attention == 3 * (6 * D + 5 * D * W + 2 * 5 * 3 * D + 5 * (D + W) + W + W + 2 * W));
  CHECK(parameters(rwkv6(false)).attention == 3 * (4 * D + 5 * D * W + 2 * W + 2 * W));
  CHECK(parameters(rwkv6(false)).mlp == 3 * (2 * D * 96 + D * D + 2 * D));
  for (const Arch& a : all()) CHECK(textbook::parameters(a).total() == parameters(a).total);
}

TEST_CASE("a sequence has a scan state per head, and ranks shard the heads", "[engine][scan]") {
  const auto bytes = [](const Arch& a, Count tp) { return cache_bytes(a, {}, 100, {.tp = tp}).value; };
  for (const Count tp : {1, 2}) {
    const Count h = H / tp, w = h * P;
    CHECK(bytes(mamba_heads(), tp) == 3 * (4 * h * N * P + 2 * 3 * w));
    CHECK(bytes(rg_lru(), tp) == 3 * (4 * w + 2 * 3 * w));
    CHECK(bytes(mlstm(), tp) == 3 * 4 * h * (N * P + N + 1));          // the normalizer, and its scale
    CHECK(bytes(rwkv6(true), tp) == 3 * (4 * h * P * P + 2 * 2 * D));  // one token for both shifts of the mixer
    CHECK(bytes(rwkv6(false), tp) == bytes(rwkv6(true), tp));
  }
  for (const Arch& a : all()) CHECK(textbook::state_bytes_per_sequence(a, 2) == cache_bytes(a, {}, 100));
}

TEST_CASE("tensors saved by layers with scans match the stored-tensor table, with and without recomputation",
          "[textbook][scan]") {
  for (const Arch& a : all()) test::check_stored(a, tokens);
}

TEST_CASE("tensors saved by scans on two ranks match the table, with and without sequence parallelism",
          "[textbook][scan]") {
  for (const Arch& a : all())
    for (const bool sp : {false, true}) {
      INFO(name(a.recurrent.kind) << (sp ? ", tokens divided" : ""));
      const Plan plan{.seq = tokens, .micro_batch = 1, .global_batch = 1};
      const Prices prices = price(a, plan, {.tp = 2, .sp = sp}, {});
      const textbook::MicroBatch<textbook::Fraction> m{
          .B = 1, .S = tokens, .p = 2, .log_sum_exps = false, .sequence_parallel = sp};
      CHECK(saved_bytes(prices, plan, whole_model(prices.kinds)) ==
            textbook::stored(a, textbook::exact_sizes(a, 2), m, Recompute::none).bytes(2).bytes());
    }
}

// Two FLOPs per multiply-add. RG-LRU has one for a h + x, which backward recomputes, and one for each gradient.
TEST_CASE("RG-LRU costs a multiply-add per channel and token, and mLSTM's normalizer widens heads by one",
          "[cost][scan]") {
  const LinearAttention lru{.sequences = 2,
                            .heads = H,
                            .queries = 5,
                            .head_dim = P,
                            .key_dim = 1,
                            .rule = StateRule::diagonal,
                            .gates = 2 * H * P,
                            .weights = 3 * H * P};
  const Pricing p{};
  CHECK(forward(lru, p).model == Flops(2 * 10 * H * P));
  CHECK(forward(lru, p).executed == Flops(2 * 10 * H * P));
  CHECK(backward(lru, p).executed == Flops(6 * 10 * H * P));
  CHECK(forward(lru, p).moved.activations == 2.0 * 10 * H * P * (3 + 1));
  LinearAttention lstm{.sequences = 2,
                       .heads = H,
                       .queries = 5,
                       .head_dim = P,
                       .key_heads = H,
                       .key_dim = N,
                       .rule = StateRule::state_space,
                       .gates = 2 * H,
                       .normalized = true};
  CHECK(forward(lstm, p).model == Flops(6 * 10 * H * N * (P + 1)));
  CHECK(forward(lstm, p).executed == Flops(4 * 10 * H * N * (P + 1)));
  lstm.chunk = 5;  // one chunk per sequence
  CHECK(forward(lstm, p).executed == Flops(4 * 10 * H * N * (P + 1) + 2 * 2 * 25 * H * (N + P + 1)));
}

TEST_CASE("a token shift reads its additional input; one that shares another's cached token caches none",
          "[cost][scan]") {
  const Shift moved{.sequences = 2, .queries = 3, .width = 5, .mixes = 4, .moved = true};
  const Shift peeks{.sequences = 2, .queries = 3, .width = 5, .peeks = true};
  Pricing p{};
  CHECK(forward(moved, p).moved.activations == 2.0 * 6 * 5 * (1 + 4 + 4));
  CHECK(backward(moved, p).moved.activations == 2.0 * 6 * 5 * (2 + 3 * 4));
  CHECK(cache_row(peeks, p).state == Bytes());
  CHECK(cache_row(moved, p).state == Bytes(2 * 5));
  p.cached = true;
  CHECK(forward(peeks, p).moved.cache == 2.0 * 2 * 5);  // read, and not written
}

TEST_CASE("tensor-parallel ranks shard scan heads, their gates and their parameters", "[tensor][scan]") {
  for (const Arch& a : all()) {
    Count whole = 0, mine = 0, same = 0;
    for (const Op& op : layer(a)) {
      const bool cut =
          op.split == Split::column || op.split == Split::row || op.split == Split::heads || op.split == Split::width;
      const Count n = learned(op.shape).total;
      const Linear* linear = std::get_if<Linear>(&op.shape);
      const Count after = op.split == Split::row && linear != nullptr && linear->bias ? linear->out : 0;
      whole += cut ? n - after : 0;
      same += cut ? after : n;
    }
    for (const Op& op : cut(layer(a), {.tp = 2})) mine += learned(op.shape).total;
    CHECK(mine == same + whole / 2);
  }
  CHECK(names(cut(layer(rwkv6(true)), {.tp = 2})) ==
        "attn.norm +rwkv.shift rwkv.shift rwkv.mix_down rwkv.mix_act rwkv.mix_up rwkv.mix rwkv.r rwkv.k rwkv.v "
        "rwkv.decay_down rwkv.decay_act rwkv.decay_up rwkv.core rwkv.o_norm rwkv.gate rwkv.gate_mul rwkv.out "
        "+rwkv.out attn.add mlp.norm +mlp.shift mlp.shift mlp.up mlp.act mlp.down mlp.receptance mlp.receptance_mul "
        "+mlp.receptance_mul mlp.add");
  CHECK(names(cut(layer(rg_lru()), {.tp = 2})) ==
        "attn.norm +lru.gate lru.gate lru.x lru.x_conv lru.in_gate lru.decay lru.core lru.gate_mul lru.out +lru.out "
        "attn.add mlp.norm +mlp.up mlp.up mlp.act mlp.down +mlp.down mlp.add");
}
