// Calls of one kind that wait for each other: one launch, and the bits of as many launches as calls. On the GPU's
// stand-in, which counts its kernels, and on a GPU where tests are told of one.

#include <cmath>
#include <functional>

#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/lab.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::each_lab;
using test::identical;
using test::Lab;
using test::Numbers;
using test::Pair;

namespace {

using Ask = std::function<void(Backend&)>;

Numbers read(Lab& lab, const Pair& p) {
  Numbers all(static_cast<std::size_t>(p.n));
  lab.tested().read(all, p.tested, p.wide);
  return all;
}
void wipe(Lab& lab, const Pair& p) {
  lab.tested().write(p.tested, Numbers(static_cast<std::size_t>(p.n), std::nan("")), p.wide);
}

/// Kernels of these calls, one after another.
std::int64_t launches(Lab& lab, const std::vector<Ask>& calls) {
  lab.tested().wait();
  const std::int64_t before = test::launches();
  for (const Ask& ask : calls) ask(lab.tested());
  lab.tested().wait();
  return test::launches() - before;
}

/// x with matrices of unlike heights, the second without a bias.
struct Products {
  Lab& lab;
  Count rows, in, stride;
  std::vector<Count> outs;
  Pair x;
  std::vector<Pair> w, b, y;

  Products(Lab& l, Count n, std::vector<Count> heights = {13, 6, 7}, Count width = 264)
      : lab(l), rows(n), in(width), stride(width + 8), outs(std::move(heights)), x(l.input(n * stride)) {
    for (const Count out : outs) {
      w.push_back(l.input(out * in));
      b.push_back(l.input(out));
      y.push_back(l.output(rows * out));
    }
  }
  Ask ask(std::size_t i) const {
    return [this, i](Backend& gpu) {
      gpu.linear({.rows = rows, .in = in, .out = outs[i], .bias = i != 1},
                 {.x = x.tested, .weight = w[i].tested, .bias = i != 1 ? b[i].tested : nullptr, .x_stride = stride},
                 y[i].tested);
    };
  }
  std::vector<Numbers> results(bool together) const {
    for (const Pair& each : y) wipe(lab, each);
    for (std::size_t i = 0; i < y.size(); ++i) {
      ask(i)(lab.tested());
      if (!together) lab.tested().wait();
    }
    std::vector<Numbers> all;
    for (const Pair& each : y) all.push_back(read(lab, each));
    return all;
  }
};

}  // namespace

TEST_CASE("products of the same few rows by one kernel are the bits of several", "[kernels]") {
  each_lab([](Lab& lab) {
    for (const Count rows : {1, 2, 3, 8, 9})
      for (const std::vector<Count>& outs : {std::vector<Count>{5, 9}, {13, 6, 7}, {2, 2, 2, 2, 3}}) {
        INFO(rows << " rows, " << outs.size() << " matrices");
        const Products p(lab, rows, outs);
        const std::vector<Numbers> apart = p.results(false), together = p.results(true);
        for (std::size_t i = 0; i < apart.size(); ++i) CHECK(identical(together[i], apart[i]));
      }
  });
}

TEST_CASE("up to three products that read the same few rows are one launch", "[kernels]") {
  Lab lab(Number::f32, test::make_emulated(Number::f32, false));
  const Products p(lab, 2), other(lab, 2), five(lab, 2, {2, 2, 2, 2, 2});
  CHECK(launches(lab, {p.ask(0)}) == 1);
  CHECK(launches(lab, {p.ask(0), p.ask(1)}) == 1);
  CHECK(launches(lab, {p.ask(0), p.ask(1), p.ask(2)}) == 1);
  CHECK(launches(lab, {five.ask(0), five.ask(1), five.ask(2), five.ask(3), five.ask(4)}) == 2);
  CHECK(launches(lab, {p.ask(0), other.ask(0), p.ask(1)}) == 3);  // other rows
  CHECK(launches(lab, {p.ask(0), p.ask(0)}) == 2);                // written twice
  const Ask wide = [&](Backend& gpu) {
    gpu.linear({.rows = 2, .in = p.in, .out = 3},
               {.x = p.x.tested, .weight = p.w[0].tested, .x_stride = p.stride, .wide_output = true}, p.y[2].tested);
  };
  CHECK(launches(lab, {p.ask(0), wide, p.ask(1)}) == 3);
  const Ask of_result = [&](Backend& gpu) {  // its matrix is what the first makes
    gpu.linear({.rows = 2, .in = p.in, .out = 1}, {.x = p.x.tested, .weight = other.x.tested, .x_stride = p.stride},
               p.y[1].tested);
  };
  const Ask to_matrix = [&](Backend& gpu) {
    gpu.linear({.rows = 2, .in = p.in, .out = p.outs[0]},
               {.x = p.x.tested, .weight = p.w[0].tested, .x_stride = p.stride}, other.x.tested);
  };
  CHECK(launches(lab, {to_matrix, of_result}) == 2);
  CHECK(launches(lab, {of_result, to_matrix}) == 2);
}

TEST_CASE("what products read may be released, and its memory asked for again, before they are made", "[kernels]") {
  each_lab([](Lab& lab) {
    const Products p(lab, 2);
    const std::vector<Numbers> before = p.results(false);
    for (const Pair& each : p.y) wipe(lab, each);
    for (std::size_t i = 0; i < 3; ++i) p.ask(i)(lab.tested());
    const Bytes bytes = p.x.n * lab.tested().number();
    lab.tested().release(p.x.tested, bytes);
    void* const again = lab.tested().allocate(bytes);  // filled with NaN
    for (std::size_t i = 0; i < 3; ++i) CHECK(identical(read(lab, p.y[i]), before[i]));
    lab.tested().release(again, bytes);
  });
}

TEST_CASE("whatever reads products or writes what they read comes after them", "[kernels]") {
  each_lab([](Lab& lab) {
    const Products p(lab, 2);
    const std::vector<Numbers> results = p.results(false);
    Backend& gpu = lab.tested();
    const Count n = p.y[1].n;
    const Pair copied = lab.output(n), sum = lab.output(n);
    for (const Pair& each : p.y) wipe(lab, each);
    p.ask(0)(gpu);
    p.ask(1)(gpu);
    gpu.copy(copied.tested, p.y[1].tested, n * gpu.number());
    CHECK(identical(read(lab, copied), results[1]));
    wipe(lab, p.y[1]);
    p.ask(0)(gpu);
    p.ask(1)(gpu);
    gpu.add({.rows = 2, .width = n / 2}, p.y[1].tested, p.y[1].tested, sum.tested);
    gpu.zero(p.y[1].tested, n * gpu.number());
    Numbers twice = results[1];
    for (double& v : twice) v *= 2;
    CHECK(identical(read(lab, sum), twice));
    p.ask(0)(gpu);
    p.ask(1)(gpu);
    gpu.zero(p.x.tested, p.x.n * gpu.number());
    CHECK(identical(read(lab, p.y[0]), results[0]));
    CHECK(identical(read(lab, p.y[1]), results[1]));
  });
}

TEST_CASE("a gate and what it opens are multiplied by the kernel that makes both", "[kernels]") {
  each_lab([](Lab& lab) {
    for (const Count rows : {1, 2, 3, 8})
      for (const Activation act :
           {Activation::relu, Activation::relu_squared, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
        const Products p(lab, rows, {13, 13});
        const Pair y = lab.output(rows * 13);
        const auto products = [&] {
          for (const Pair& each : {y, p.y[0], p.y[1]}) wipe(lab, each);
          p.ask(0)(lab.tested());
          p.ask(1)(lab.tested());
        };
        const auto ask = [&] {
          lab.tested().gate({.rows = rows, .width = 13}, act, p.y[0].tested, p.y[1].tested, y.tested);
          return std::vector<Numbers>{read(lab, y), read(lab, p.y[0]), read(lab, p.y[1])};
        };
        products();
        lab.tested().wait();
        const std::vector<Numbers> apart = ask();
        products();
        const std::vector<Numbers> together = ask();
        for (std::size_t i = 0; i < apart.size(); ++i) CHECK(identical(together[i], apart[i]));
      }
  });
}

TEST_CASE("a gate takes the two products that it reads, and no others", "[kernels]") {
  Lab lab(Number::f32, test::make_emulated(Number::f32, false));
  const Products p(lab, 2, {6, 6, 6});
  const Pair y = lab.output(12);
  const auto gate = [&](const Pair& a, const Pair& b, const Pair& to, Count rows = 2) {
    return [&gpu = lab.tested(), a, b, to, rows](Backend&) {
      gpu.gate({.rows = rows, .width = 6}, Activation::silu, a.tested, b.tested, to.tested);
    };
  };
  CHECK(launches(lab, {p.ask(0), p.ask(1), gate(p.y[0], p.y[1], y)}) == 1);
  CHECK(launches(lab, {p.ask(0), p.ask(1), gate(p.y[1], p.y[0], y)}) == 2);
  CHECK(launches(lab, {p.ask(0), p.ask(1), gate(p.y[0], p.y[1], y, 1)}) == 2);
  CHECK(launches(lab, {p.ask(0), p.ask(1), p.ask(2), gate(p.y[0], p.y[1], y)}) == 2);
  CHECK(launches(lab, {p.ask(0), gate(p.y[0], p.y[1], y)}) == 2);
  CHECK(launches(lab, {p.ask(0), p.ask(1), gate(p.y[0], p.y[1], p.x)}) == 2);  // over what others still read
}

namespace {

/// Rotations of queries, whose heads have more numbers than are rotated, and of keys.
struct Rotations {
  Lab& lab;
  Count rows, heads, width;
  Pair q, k;
  Rotations(Lab& l, Count rows_, Count width_)
      : lab(l),
        rows(rows_),
        heads(3),
        width(width_),
        q(l.input(rows * heads * (width + 8))),
        k(l.input(rows * width)) {}
  Ask of_q(Count past = 5) const {
    return [this, past](Backend& gpu) {
      gpu.rope(rows, {.queries = rows / 2, .past = past}, q.tested, heads * (width + 8), heads, width + 8, width, 8,
               false);
    };
  }
  Ask of_k() const {
    return [this](Backend& gpu) {
      gpu.rope(rows, {.queries = rows / 2, .past = 5}, k.tested, width, 1, width, width, 0, true);
    };
  }
};

/// Keys and values that go to a cache each, of other widths.
struct Caches {
  static constexpr Count queries = 3, capacity = 4, past = 2;
  Lab& lab;
  Count width;
  Pair k, v, keys, values;
  Caches(Lab& l, Count w)
      : lab(l),
        width(w),
        k(l.input(2 * queries * width)),
        v(l.input(2 * queries * 2 * width)),
        keys(l.input(2 * capacity * width)),
        values(l.input(2 * capacity * 2 * width)) {}
  Ask of_keys() const { return of(k, width, keys); }
  Ask of_values() const { return of(v, 2 * width, values); }
  static Ask of(const Pair& x, Count width, const Pair& to) {
    return [=](Backend& gpu) {
      gpu.cache(2, {.queries = queries, .past = past}, x.tested, width, width, to.tested, width, capacity);
    };
  }
};

/// What both leave in a and b, which begin the same way each time.
template <typename F, typename G>
void check_together(Lab& lab, const Pair& a, const Pair& b, const F& first, const G& second) {
  const Numbers old_a = read(lab, a), old_b = read(lab, b);
  first(lab.tested());
  lab.tested().wait();
  second(lab.tested());
  const Numbers apart_a = read(lab, a), apart_b = read(lab, b);
  CHECK(apart_a != old_a);
  CHECK(apart_b != old_b);
  lab.tested().write(a.tested, old_a, false);
  lab.tested().write(b.tested, old_b, false);
  first(lab.tested());
  second(lab.tested());
  CHECK(identical(read(lab, a), apart_a));
  CHECK(identical(read(lab, b), apart_b));
}

}  // namespace

TEST_CASE("rotations of queries and keys by one kernel are the bits of two", "[kernels]") {
  each_lab([](Lab& lab) {
    for (const Count width : {Count{16}, Count{6}}) {
      const Rotations r(lab, 4, width);
      check_together(lab, r.q, r.k, r.of_q(), r.of_k());
    }
  });
}

TEST_CASE("keys and values go to their caches by one kernel as by two", "[kernels]") {
  each_lab([](Lab& lab) {
    for (const Count width : {Count{16}, Count{5}}) {
      const Caches c(lab, width);
      check_together(lab, c.keys, c.values, c.of_keys(), c.of_values());
    }
  });
}

TEST_CASE("two rotations, or two copies to caches, are one launch where they leave each other alone", "[kernels]") {
  Lab lab(Number::f32, test::make_emulated(Number::f32, false));
  const Rotations r(lab, 4, 16);
  const Caches c(lab, 16), between_packs(lab, 5);
  launches(lab, {r.of_q()});  // which makes the angles
  CHECK(launches(lab, {r.of_q(), r.of_k()}) == 1);
  CHECK(launches(lab, {r.of_q(), r.of_q()}) == 2);
  CHECK(launches(lab, {r.of_q(), r.of_q(6)}) == 3);  // with angles of its own
  CHECK(launches(lab, {c.of_keys(), c.of_values()}) == 1);
  CHECK(launches(lab, {c.of_keys(), c.of_keys()}) == 2);
  CHECK(launches(lab, {c.of_keys(), between_packs.of_values()}) == 2);
  CHECK(launches(lab, {r.of_k(), c.of_keys(), r.of_k()}) == 4);                                // the angles again
  CHECK(launches(lab, {Caches::of(c.k, 16, c.keys), Caches::of(c.keys, 16, c.values)}) == 2);  // read and written
  CHECK(launches(lab, {Caches::of(c.keys, 16, c.values), Caches::of(c.k, 16, c.keys)}) == 2);
}

namespace {

/// Kernels of one more token, where nothing is recorded yet: in two sequences, after 4 tokens.
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

/// Widths of whole packs, for which a token's products are kernels.
Arch in_packs(Arch a) {
  a.hidden = a.embedding_width = 16;
  a.mlp_width = 24;
  a.head_dim = 8;
  return a;
}

}  // namespace

TEST_CASE("launches for one more token", "[kernels]") {
  // Norm with the sum before it; queries, keys and values; rotations; caches; attention's parts and what puts them
  // together; what it leaves; norm with the sum; gate and up with what they make; down. Beside the layers: the table's
  // rows, the angles, the last norm, the logits.
  CHECK(decoding_launches(in_packs(test::tiny_llama())) == 2 * 10 + 4);
  // Without rotations and gate, and with a table of positions in the angles' place.
  CHECK(decoding_launches(in_packs(test::tiny_gpt())) == 2 * 10 + 4);
}
