// Compares decode kernels with double, on the GPU emulator and on a GPU: matmuls of a few rows, attention of one query
// to a cache, and cache writes.

#include "tests/catch.hpp"
#include "tests/model/lab.hpp"
#include "tests/models/tiny.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::each_lab;
using test::Lab;
using test::Pair;

namespace {

struct Decoding {
  const char* name;
  Count heads, kv_heads, width, past, capacity;
  Count window = 0;
  bool sinks = false, alibi = false, chunked = false;
};

/// Two sequences with one query each. The cache is a ring if it has fewer slots than tokens.
void check_decoding(Lab& lab, const Decoding& d) {
  INFO(d.name);
  const Attention s{.sequences = 2,
                    .heads = d.heads,
                    .kv_heads = d.kv_heads,
                    .queries = 1,
                    .keys = 1,
                    .qk_dim = d.width,
                    .v_dim = d.width + 8,
                    .reach = {d.window, d.chunked},
                    .sinks = d.sinks};
  const Pair q = lab.input(2 * d.heads * d.width), k = lab.input(2 * d.capacity * d.kv_heads * d.width);
  const Pair v = lab.input(2 * d.capacity * d.kv_heads * s.v_dim), sinks = lab.input(d.heads);
  const Pair o = lab.output(2 * d.heads * s.v_dim), log_sum_exp = lab.output(2 * d.heads, true);
  const auto ask = [&](Backend& b, auto p, Count past) {
    const auto view = [&](const Pair& x, Count tokens, Count heads, Count dim, Count capacity) {
      return HeadView{
          .data = p(x), .sequence = tokens * heads * dim, .token = heads * dim, .head = dim, .capacity = capacity};
    };
    const AttentionInputs in{.q = view(q, 1, d.heads, d.width, 0),
                             .q_rope = {},
                             .k = view(k, d.capacity, d.kv_heads, d.width, d.capacity),
                             .k_rope = {},
                             .v = view(v, d.capacity, d.kv_heads, s.v_dim, d.capacity),
                             .scale = 0.2,
                             .sinks = d.sinks ? p(sinks) : nullptr,
                             .alibi = d.alibi};
    Attention now = s;
    now.keys = past + 1;
    b.attention(now, in, AttentionImpl::flash, {}, {.log_sum_exp = p(log_sum_exp)}, p(o));
  };
  lab.run([&](Backend& b, auto p) { ask(b, p, d.past); });
  lab.check("o", o);
  lab.check("log-sum-exp", log_sum_exp);
  // Replays recordings made with fewer past tokens.
  lab.run([&](Backend& b, auto p) {
    std::unique_ptr<Recording> held;
    for (const Count past : {d.past / 2, d.past / 2, d.past}) b.replay(held, {.past = past}, [&] { ask(b, p, past); });
    if (held != nullptr) CHECK(held->how() == "from a recording");
  });
  lab.check("o, from a recording", o);
  lab.check("log-sum-exp, from a recording", log_sum_exp);
}

}  // namespace

TEST_CASE("matmuls of a few rows match double precision", "[kernels]") {
  each_lab([](Lab& lab) {
    // Rows of whole packs, some longer than the threads of a block load at once, and rows that begin between packs.
    for (const Count in : {Count{8}, Count{264}, Count{4360}, Count{33}})
      for (const Count rows : {1, 2, 3, 4, 5, 8, 9})
        for (const bool wide : {false, true}) {
          INFO(rows << " rows of " << in << (wide ? ", wide" : ""));
          const Count out = 7, stride = in + 8;
          const Linear s{.rows = rows, .in = in, .out = out, .bias = true};
          const Pair x = lab.input(rows * stride), w = lab.input(out * in), b = lab.input(out);
          const Pair y = lab.output(rows * out, wide), plain = lab.output(rows * out, wide);
          const Flops before = lab.tested().done();
          lab.run([&](Backend& c, auto p) {
            c.linear(s, {.x = p(x), .weight = p(w), .bias = p(b), .x_stride = stride, .wide_output = wide}, p(y));
            c.linear(s, {.x = p(x), .weight = p(w), .x_stride = stride, .wide_output = wide}, p(plain));
          });
          lab.check("y", y);
          lab.check("without bias", plain);
          CHECK((lab.tested().done() - before).value == Approx(static_cast<double>(4 * rows * in * out)));
        }
  });
}

TEST_CASE("attention of one query to a cache matches double precision", "[kernels]") {
  const Decoding all[] = {{"a key for every head", 3, 3, 64, 100, 128},
                          {"two heads per key", 4, 2, 96, 40, 200},
                          {"four, many keys", 8, 2, 128, 1000, 1024},
                          {"six, a few keys of a large cache", 6, 1, 8, 5, 4096},
                          {"eleven", 11, 1, 32, 77, 78},
                          {"the first token", 4, 2, 64, 0, 64},
                          {"a ring", 4, 2, 64, 150, 40, 40},
                          {"a window of a cache", 4, 2, 64, 150, 200, 33},
                          {"chunks of a cache", 4, 2, 64, 150, 200, 33, false, false, true},
                          {"chunks in a ring", 4, 2, 64, 150, 40, 40, false, false, true},
                          {"the last token of a chunk", 4, 2, 64, 119, 40, 40, false, false, true},
                          {"sinks", 4, 1, 40, 90, 96, 0, true},
                          {"ALiBi", 4, 1, 40, 90, 96, 0, false, true},
                          {"heads between packs", 4, 2, 10, 90, 96}};
  each_lab([&](Lab& lab) {
    for (const Decoding& d : all) check_decoding(lab, d);
  });
}

TEST_CASE("if several tokens share a cache slot, the last one is stored", "[kernels]") {
  each_lab([](Lab& lab) {
    for (const Count width : {Count{16}, Count{5}})
      for (const Count past : {0, 3}) {
        const Count queries = 11, capacity = 4, row = width + 8, stride = width + 16;
        const Pair x = lab.input(2 * queries * stride), cache = lab.input(2 * capacity * row);
        lab.run([&](Backend& b, auto p) {
          b.cache(2, {.queries = queries, .past = past}, p(x), stride, width, p(cache), row, capacity);
        });
        lab.check("cache", cache);
      }
  });
}

namespace {

/// Kernel launches for one more token in two sequences, after 4 tokens and before any recording.
std::int64_t decoding_launches(const Arch& arch) {
  const std::unique_ptr<Backend> b = test::make_emulated(Number::f32, false);
  Plan plan = test::tiny_plan();
  Transformer t(arch, *b, {.plan = plan}, 7);
  Cache cache = t.make_cache(2, 8);
  t.logits(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8}, 2, 0, &cache);
  const std::int64_t before = test::launches();
  t.logits(std::vector<std::int64_t>{3, 4}, 2, 4, &cache);
  return test::launches() - before;
}

/// Widths that are multiples of a pack, so that a token's matmuls run as kernels.
Arch in_packs(Arch a) {
  a.hidden = a.embedding_width = 16;
  a.mlp_width = 24;
  a.head_dim = 8;
  return a;
}

}  // namespace

TEST_CASE("each operator of a decode step needs one kernel launch, and attention needs two", "[kernels]") {
  // Two layers: norm; queries, keys and values; two rotations; two cache writes; parts of attention and their
  // combination; output projection; sum; norm; gate and up; activation; down; sum. Outside the layers: embedding rows,
  // angles, final norm, logits.
  CHECK(decoding_launches(in_packs(test::tiny_llama())) == 2 * (1 + 3 + 2 + 2 + 2 + 1 + 1 + 1 + 2 + 1 + 1 + 1) + 4);
  // Without rotations, and with an activation instead of the gate: norm; three matmuls; two cache writes; attention;
  // projection; sum; norm; up; activation; down; sum. Outside the layers: rows of two tables, their sum, final norm,
  // logits.
  CHECK(decoding_launches(in_packs(test::tiny_gpt())) == 2 * (1 + 3 + 2 + 2 + 1 + 1 + 1 + 1 + 1 + 1 + 1) + 5);
}
