// Compares flash and naive attention in float32 and bfloat16 with double: on the CPU, on the GPU emulator, and on a GPU
// if LLMCALC_TEST_GPU is set.

#include "model/cpu/make.hpp"
#include "tests/catch.hpp"
#include "tests/model/emulated_block.hpp"
#include "tests/model/lab.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Lab;
using test::Pair;

namespace {

struct CoreVariant {
  const char* name;
  AttentionImpl how;
  Count window = 0, past = 0;
  bool sinks = false, alibi = false;
  double dropout = 0;
  bool chunked = false;  ///< the window is a chunk
};

/// One attention core forward and backward: 4 heads on 2 KV heads.
void check_core(Lab& lab, Count sequences, Count queries, Count width, const CoreVariant& c) {
  INFO(c.name << ", " << queries << " queries");
  const Count keys = c.past + queries, heads = 4, kv = 2;
  const Attention s{.sequences = sequences,
                    .heads = heads,
                    .kv_heads = kv,
                    .queries = queries,
                    .keys = keys,
                    .qk_dim = width,
                    .v_dim = width + 2,
                    .reach = {c.window, c.chunked},
                    .sinks = c.sinks};
  const Count pairs = s.rows() * heads * keys, outputs = s.rows() * heads * s.v_dim;
  const Pair q = lab.input(s.rows() * heads * width), k = lab.input(sequences * keys * kv * width);
  const Pair v = lab.input(sequences * keys * kv * s.v_dim), sinks = lab.input(heads), d_o = lab.input(outputs);
  const Pair o = lab.output(outputs), lse = lab.output(s.rows() * heads, true), p0 = lab.output(pairs);
  const Pair dropped = lab.output(pairs), scratch = lab.output(pairs), dsinks = lab.input(heads, true);
  const Pair dq = lab.output(q.n), dk = lab.output(k.n), dv = lab.output(v.n);
  const Dropout d{.p = c.dropout, .key = 5};
  const Pair mask = lab.bytes(pairs);
  lab.run([&](Backend& b, auto p) {
    const auto view = [&](const Pair& x, Count n, Count h, Count dim) {
      return HeadView{.data = p(x), .sequence = n * h * dim, .token = h * dim, .head = dim};
    };
    const AttentionInputs in{.q = view(q, queries, heads, width),
                             .q_rope = {},
                             .k = view(k, keys, kv, width),
                             .k_rope = {},
                             .v = view(v, keys, kv, s.v_dim),
                             .scale = 0.2,
                             .sinks = c.sinks ? p(sinks) : nullptr,
                             .alibi = c.alibi};
    AttentionSaved saved{.log_sum_exp = p(lse)};
    if (c.how == AttentionImpl::naive) {
      saved.probabilities = p(p0);
      if (d.p > 0) {
        saved.dropped = p(dropped);
        saved.mask = p(mask);
      }
    }
    b.attention(s, in, c.how, d, saved, p(o));
    if (c.past > 0) return;
    const AttentionGradients to{.q = view(dq, queries, heads, width),
                                .q_rope = {},
                                .k = view(dk, keys, kv, width),
                                .k_rope = {},
                                .v = view(dv, keys, kv, s.v_dim),
                                .sinks = c.sinks ? p(dsinks) : nullptr};
    b.attention_gradient(s, in, c.how, d, saved, p(o), p(d_o), p(scratch), to);
  });
  lab.check("o", o);
  if (c.past > 0) return;
  lab.check("dq", dq);
  lab.check("dk", dk);
  lab.check("dv", dv);
  // Naive attention does not save the sink's share; it is 1 minus the rounded probabilities.
  if (c.sinks) lab.check("sinks", dsinks, c.how == AttentionImpl::naive ? 4 : 1);
}

}  // namespace

TEST_CASE("attention and its gradients match double precision", "[kernels]") {
  const CoreVariant variants[] = {{"flash", AttentionImpl::flash},
                                  {"flash, window", AttentionImpl::flash, 5},
                                  {"flash, chunks", AttentionImpl::flash, 5, 0, false, false, 0, true},
                                  {"flash, chunks and past", AttentionImpl::flash, 5, 9, false, false, 0, true},
                                  {"flash, sinks", AttentionImpl::flash, 0, 0, true},
                                  {"flash, ALiBi", AttentionImpl::flash, 0, 0, false, true},
                                  {"flash, dropout", AttentionImpl::flash, 0, 0, false, false, 0.2},
                                  {"flash, past", AttentionImpl::flash, 0, 9},
                                  {"naive", AttentionImpl::naive},
                                  {"naive, window", AttentionImpl::naive, 5},
                                  {"naive, chunks", AttentionImpl::naive, 5, 0, false, false, 0, true},
                                  {"naive, sinks", AttentionImpl::naive, 0, 0, true},
                                  {"naive, dropout", AttentionImpl::naive, 0, 0, false, false, 0.2},
                                  {"naive, past", AttentionImpl::naive, 0, 9}};
  for (const Number number : {Number::f32, Number::bf16})
    for (const CoreVariant& c : variants) {
      INFO((number == Number::f32 ? "float32" : "bfloat16"));
      for (const Count queries : {Count{2}, Count{7}, Count{33}, Count{130}}) {
        Lab lab(number, make_cpu(number, true));
        check_core(lab, 2, queries, queries == 33 ? 64 : 10, c);
      }
      // More keys than threads per block (at most 128), so that kernels process them in tiles.
      for (const test::MakeBackend make : test::gpus()) {
        const int block = make == test::make_emulated ? std::min(test::emulation().most_threads, 128) : 128;
        for (const Count queries : {3, block + 2}) {
          Lab lab(number, make(number, true));
          check_core(lab, 1, queries, 10, c);
        }
      }
    }
}
