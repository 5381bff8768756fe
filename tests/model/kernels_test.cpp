// Compares every kernel of the CPU backends in float32 and 16 bits with the same kernel in double, on the same inputs:
// odd sizes, outputs that start as NaN. Finite differences verify the double kernels (gradient_test.cpp).

#include <cmath>

#define LLMCALC_ISA tested  // instances for this test only
#include "model/cpu/make.hpp"
#include "model/cpu/rowwise/dropout.hpp"
#include "model/random.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/emulated.hpp"
#include "tests/model/environment.hpp"
#include "tests/model/lab.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Lab;
using test::Pair;

namespace {

const char* name_of(Number n) {
  return n == Number::f32 ? "float32" : n == Number::bf16 ? "bfloat16" : "half precision";
}

/// Calls f(lab, width) on the CPU and every tested GPU backend, in their formats and with several widths.
template <typename F>
void everywhere(F f) {
  std::vector<test::MakeBackend> all = test::gpus();
  all.push_back(make_cpu);
  for (const test::MakeBackend make : all)
    for (const Number number : {Number::f32, Number::bf16, Number::f16})
      for (const Count width : {Count{7}, Count{33}, Count{130}, Count{1000}, Count{2104}}) {
        if (number == Number::f16 && make != static_cast<test::MakeBackend>(make_cpu)) continue;
        std::unique_ptr<Backend> tested = make(number, true);
        INFO(tested->name() << ", width " << width);
        Lab lab(number, std::move(tested));
        f(lab, width);
      }
}

constexpr Count rows = 11;

}  // namespace

TEST_CASE("element-wise sums and products match double precision", "[kernels]") {
  everywhere([](Lab& lab, Count width) {
    const Pointwise s{.rows = rows, .width = width};
    const Count n = rows * width;
    const Pair a = lab.input(n), b = lab.input(n), dy = lab.input(n), g = lab.input(rows), y = lab.output(n);
    lab.run([&](Backend& k, auto p) { k.add(s, p(a), p(b), p(y)); });
    lab.check("add", y);
    lab.run([&](Backend& k, auto p) { k.accumulate(n, p(a), p(y)); });
    lab.check("accumulate", y);
    lab.run([&](Backend& k, auto p) { k.multiply(s, p(a), p(b), p(y)); });
    lab.check("multiply", y);
    lab.run([&](Backend& k, auto p) { k.scale(s, p(a), p(g), p(y)); });
    lab.check("scale", y);
    for (const bool add : {false, true}) {
      const Pair da = add ? lab.input(n) : lab.output(n), db = add ? lab.input(n) : lab.output(n);
      lab.run([&](Backend& k, auto p) { k.multiply_gradient(s, p(a), p(b), p(dy), p(da), add, p(db), add); });
      lab.check("multiply, da", da);
      lab.check("multiply, db", db);
      const Pair dx = add ? lab.input(n) : lab.output(n), dg = add ? lab.input(rows) : lab.output(rows);
      lab.run([&](Backend& k, auto p) { k.scale_gradient(s, p(a), p(g), p(dy), p(dx), add, p(dg), add); });
      lab.check("scale, da", dx);
      lab.check("scale, dg", dg);
    }
  });
}

TEST_CASE("activations, gates and their gradients match double precision", "[kernels]") {
  everywhere([](Lab& lab, Count width) {
    const Pointwise s{.rows = rows, .width = width};
    const Count n = rows * width;
    const Pair a = lab.input(n, false, 6), b = lab.input(n), dy = lab.input(n);
    for (const Activation f :
         {Activation::relu, Activation::relu_squared, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
      INFO("activation " << static_cast<int>(f));
      const Pair y = lab.output(n), z = lab.output(n);
      lab.run([&](Backend& k, auto p) { k.activate(s, f, p(a), p(y)), k.gate(s, f, p(a), p(b), p(z)); });
      lab.check("activate", y);
      lab.check("gate", z);
      for (const bool add : {false, true}) {
        const auto gradient = [&] { return add ? lab.input(n) : lab.output(n); };
        const Pair dx = gradient(), da = gradient(), db = gradient();
        lab.run([&](Backend& k, auto p) {
          k.activate_gradient(s, f, p(a), p(dy), p(dx), add);
          k.gate_gradient(s, f, p(a), p(b), p(dy), p(da), add, p(db), add);
        });
        lab.check("activation's gradient", dx);
        lab.check("gate, da", da);
        lab.check("gate, db", db);
      }
    }
  });
}

TEST_CASE("norms and their gradients match double precision", "[kernels]") {
  everywhere([](Lab& lab, Count width) {
    for (const bool centered : {true, false})
      for (const bool weights : {true, false})
        for (const bool saved : {true, false}) {
          INFO("centered " << centered << ", weights " << weights << ", statistics kept " << saved);
          const Norm s{.rows = rows, .width = width, .centered = centered};
          const Count stride = width + 3;
          const Pair x = lab.input(rows * stride), w = lab.input(width), b = lab.input(width),
                     dy = lab.input(rows * width);
          const Pair y = lab.output(rows * width), st = lab.output(2 * rows, true), dx = lab.input(rows * stride);
          const Pair dw = lab.input(width, true), db = lab.input(width, true);
          lab.run([&](Backend& k, auto p) {
            const NormView v{.x = p(x),
                             .weight = weights ? p(w) : nullptr,
                             .bias = weights && centered ? p(b) : nullptr,
                             .x_stride = stride};
            k.norm(s, v, p(y), p(st));
            k.norm_gradient(s, v, saved ? p(st) : nullptr, p(dy), p(dx), saved, weights ? p(dw) : nullptr,
                            weights && centered ? p(db) : nullptr);
          });
          lab.check("norm", y);
          lab.check("dx", dx);
          if (weights) lab.check("dw", dw);
          if (weights && centered) lab.check("db", db);
        }
  });
}

TEST_CASE("scaling, capping and unit-offset norms match double precision", "[kernels]") {
  for (const Number number : {Number::f32, Number::bf16, Number::f16})
    for (const Count width : {Count{7}, Count{130}, Count{1000}}) {
      Lab lab(number, make_cpu(number, true));
      const Count n = rows * width;
      const Pair x = lab.input(n), y = lab.input(n, false, 50), wide = lab.input(n, true, 50);
      lab.run([&](Backend& k, auto p) {
        k.multiply_all(n, 1.5, p(x));
        k.cap(n, 30, p(y), false);
        k.cap(n, 30, p(wide), true);
      });
      lab.check("multiply_all", x);
      lab.check("cap", y);
      lab.check("cap of wide numbers", wide);
      const Norm s{.rows = rows, .width = width};
      const Pair from = lab.input(n), w = lab.input(width), dy = lab.input(n), to = lab.output(n), dx = lab.output(n);
      const Pair dw = lab.input(width, true);
      lab.run([&](Backend& k, auto p) {
        const NormView v{.x = p(from), .weight = p(w), .x_stride = width, .offset = 1};
        k.norm(s, v, p(to), nullptr);
        k.norm_gradient(s, v, nullptr, p(dy), p(dx), false, p(dw), nullptr);
      });
      lab.check("norm", to);
      lab.check("dx", dx);
      lab.check("dw", dw);
    }
}

TEST_CASE("a scaled rotation matches double precision", "[kernels]") {
  everywhere([](Lab& lab, Count width) {
    const Count even = width / 2 * 2, tokens = 6;
    const Rotary slow = rotary({.base = 500, .scaling = RopeScaling::linear, .factor = 3}, even, 0);
    const Rotary louder{slow.frequency, 1.25};
    const Pair x = lab.input(tokens * even);
    for (const Rotary* r : {&slow, &louder})
      lab.run([&](Backend& k, auto p) { k.rope(tokens, {3, 10, r}, p(x), even, 1, even, even, 0, false); });
    lab.check("rotation", x);
  });
}

TEST_CASE("lookups, sinusoids and rotations match double precision", "[kernels]") {
  everywhere([](Lab& lab, Count width) {
    const Count vocabulary = 5, queries = 4, tokens = 3 * queries, even = width / 2 * 2;
    const Lookup s{.tokens = tokens, .rows = vocabulary, .width = width};
    const Positions at{.queries = queries, .past = 100};
    const std::vector<std::int64_t> ids = {0, 4, 4, 1, 2, 0, 4, 3, 3, 3, 1, 0};
    const Pair table = lab.input(vocabulary * width), y = lab.output(tokens * width);
    lab.run([&](Backend& k, auto p) { k.lookup(s, ids.data(), at, p(table), p(y)); });
    lab.check("lookup", y);
    lab.run([&](Backend& k, auto p) { k.add_sinusoid(s, at, p(y)); });
    lab.check("sinusoids", y);
    const Pair dtable = lab.input(vocabulary * width, true);
    lab.run([&](Backend& k, auto p) { k.lookup_gradient(s, ids.data(), at, p(y), p(dtable)); });
    lab.check("lookup's gradient", dtable);
    const Positions second{.queries = queries, .past = 1};  // rows 1 to 4
    const Pair z = lab.output(tokens * width);
    lab.run([&](Backend& k, auto p) {
      k.lookup(s, {}, second, p(table), p(z));
      k.lookup_gradient(s, {}, second, p(z), p(dtable));
    });
    lab.check("rows of positions", z);
    lab.check("their gradient", dtable);
    // Two heads of width even + 1; the first element of each is not rotated.
    const Pair x = lab.input(tokens * 2 * (even + 1));
    lab.run([&](Backend& k, auto p) { k.rope(tokens, at, p(x), 2 * (even + 1), 2, even + 1, even, 1, false); });
    lab.check("rotation", x);
    lab.run([&](Backend& k, auto p) { k.rope(tokens, at, p(x), 2 * (even + 1), 2, even + 1, even, 1, true); });
    lab.check("rotation back", x);
    // The same in packs: the first 8 elements of each head are not rotated.
    const Count head = even + 8;
    const Pair wider = lab.input(tokens * 2 * head);
    lab.run([&](Backend& k, auto p) { k.rope(tokens, at, p(wider), 2 * head, 2, head, even, 8, false); });
    lab.check("rotation of wider heads", wider);
  });
}

TEST_CASE("the loss and the optimizers match double precision", "[kernels]") {
  everywhere([](Lab& lab, Count width) {
    const Loss s{.rows = rows, .vocabulary = width};
    const std::vector<std::int64_t> targets(rows, width - 2);
    const Pair x = lab.input(rows * width, true, 8);
    std::vector<double> losses;
    lab.run([&](Backend& k, auto p) {
      losses.push_back(test::left_by(k, 1, [&](double* mean) { k.loss(s, targets.data(), p(x), nullptr, mean); })[0]);
    });
    CHECK(losses[0] == Approx(losses[1]).epsilon(1e-5));
    // The head defines the layout of the logits' gradient, so it is checked through the head's gradients.
    const Linear head{.rows = rows, .in = 5, .out = width};
    const Pair h = lab.input(rows * 5), table = lab.input(width * 5), dh = lab.output(rows * 5);
    const Pair dtable = lab.input(width * 5, true);
    lab.run([&](Backend& k, auto p) {
      k.loss_gradient(s, targets.data(), 0.25, p(x), nullptr);
      k.linear_gradient(head, {.x = p(h), .weight = p(table), .wide_output = true}, p(x), p(dh), false, p(dtable),
                        nullptr);
    });
    lab.check("loss' gradient, dx", dh);
    lab.check("loss' gradient, dw", dtable);

    const Count n = rows * width;
    const Pair g = lab.input(n, true), w = lab.input(n), master = lab.input(n, true), m = lab.input(n, true);
    const Pair v = lab.input(n, true), w2 = lab.input(n), velocity = lab.input(n, true);
    std::vector<double> squares;
    lab.run([&](Backend& k, auto p) {
      // A loss, the squared gradient norm, the norm, and the factor that clips the gradient to 0.3 of that norm.
      const std::vector<double> left = test::left_by(k, 4, [&](double* at) {
        const double loss = 1;
        k.upload(at, &loss, Bytes(sizeof loss));
        const ParameterUpdate only{.n = n, .gradient = p(g)};
        k.square_sums({&only, 1}, at + 1);
        double square = 0;
        k.download(&square, at + 1, Bytes(sizeof square));
        k.clip({at, 1}, {at + 1, 1}, 0.3 * std::sqrt(square), at + 2);
        k.multiply_by({&only, 1}, at + 3);
      });
      squares.push_back(left[1]);
      CHECK(left[2] == Approx(std::sqrt(left[1])));
      CHECK(left[3] == Approx(0.3));
    });
    lab.check("clipped", g);
    CHECK(squares[0] == Approx(squares[1]).epsilon(1e-6));
    // The second moment, which is never negative, starts at 0.
    lab.run([&](Backend& k, auto p) {
      k.zero(p(v), n * k.wide());
      const ParameterUpdate adam{
          .n = n, .gradient = p(g), .weight = p(w), .master = p(master), .first = p(m), .second = p(v)};
      k.update({&adam, 1}, {.decay = 0.1, .step = 3});
      const ParameterUpdate momentum{.n = n, .gradient = p(g), .weight = p(w2), .first = p(velocity)};
      k.update({&momentum, 1}, {.optimizer = Optimizer::momentum, .rate = 1e-2, .decay = 0.1});
    });
    lab.check("AdamW, weight", w);
    lab.check("AdamW, master", master);
    lab.check("AdamW, m", m);
    lab.check("AdamW, v", v);
    lab.check("momentum, weight", w2);
    lab.check("momentum, velocity", velocity);
  });
}

TEST_CASE("parameters of any length are updated in one call, each with its own weight decay", "[kernels]") {
  everywhere([](Lab& lab, Count width) {
    const std::vector<Count> lengths{2100, 1, 4 * width, 0, 7, 8200 + width};
    struct Arrays {
      Count n;
      Pair g, w, master, m, v;
    };
    std::vector<Arrays> all;
    for (const Count n : lengths)
      all.push_back({n, lab.input(n, true), lab.input(n), lab.input(n, true), lab.input(n, true), lab.input(n, true)});
    std::vector<std::vector<double>> squares;
    lab.run([&](Backend& k, auto p) {
      std::vector<ParameterUpdate> parameters;
      for (const Arrays& a : all) {
        k.zero(p(a.v), a.n * k.wide());
        parameters.push_back({a.n, p(a.g), p(a.w), p(a.master), p(a.m), p(a.v), a.n % 2 == 0});
      }
      squares.push_back(test::left_by(k, lengths.size(), [&](double* at) { k.square_sums(parameters, at); }));
      k.update(parameters, {.decay = 0.1, .step = 3});
    });
    for (std::size_t i = 0; i < all.size(); ++i) {
      INFO("parameter " << i);
      CHECK(squares[0][i] == Approx(squares[1][i]).epsilon(1e-6));
      if (all[i].n == 0) continue;
      lab.check("weight", all[i].w);
      lab.check("master", all[i].master);
      lab.check("m", all[i].m);
      lab.check("v", all[i].v);
    }
  });
}

namespace {

/// Checks that products of every 16-bit value with values of all magnitudes are rounded as if computed one by one.
template <typename T>
void check_rounding(Number number) {
  std::vector<T> a, b;
  for (std::uint32_t i = 0; i < 70001; ++i) {
    a.emplace_back().bits = static_cast<std::uint16_t>(i);
    b.emplace_back().bits = static_cast<std::uint16_t>(i * 40503U >> 3U);
  }
  std::vector<T> y(a.size());
  const Pointwise s{.kind = PointwiseKind::multiply, .rows = 1, .width = static_cast<Count>(a.size())};
  make_cpu(number)->multiply(s, a.data(), b.data(), y.data());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float product = wide(a[i]) * wide(b[i]);
    wrong += std::isnan(product) ? !std::isnan(wide(y[i])) : y[i].bits != T(product).bits;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("16-bit rounding of arrays equals that of single values, including subnormals, infinity and NaN",
          "[kernels]") {
  check_rounding<bf16>(Number::bf16);
  check_rounding<fp16>(Number::f16);
}

TEST_CASE("dropout follows the random generator's definition", "[kernels]") {
  const Dropout d{.p = 0.3, .key = 99};
  everywhere([&](Lab& lab, Count width) {
    const Pointwise s{.rows = rows, .width = width};
    const Count n = rows * width;
    const Pair x = lab.input(n), dx = lab.input(n), mask = lab.bytes(n);
    lab.run([&](Backend& k, auto p) {
      k.dropout(s, d, p(x), p(mask));
      k.dropout_gradient(s, d, p(mask), p(dx));
    });
    lab.check("dropout", x);
    lab.check("dropout's gradient", dx);
    const std::vector<std::uint8_t> saved = lab.tested_bytes(mask);
    for (std::size_t i = 0; i < saved.size(); ++i) {
      const RandomWords r = philox(random_key(d.key), random_counter(i / 4));
      REQUIRE(saved[i] == (unit_float(r.word[i % 4]) >= 0.3f ? 1 : 0));
    }
  });
}

TEST_CASE("dropout masks drawn for any interval equal those drawn for the whole range", "[kernels]") {
  const Dropout d{.p = 0.5, .key = 3};
  std::vector<double> all(256), some(256);
  tested::throw_dice(d, 0, 256, all.data());
  for (const Count first : {0, 1, 63, 64, 100})
    for (const Count n : {0, 1, 64, 65, 130}) {
      tested::throw_dice(d, first, n, some.data());
      CHECK(std::equal(some.begin(), some.begin() + n, all.begin() + first));
      std::fill(some.begin(), some.end(), 1.0);
      tested::multiply_by_dice(d, first, n, some.data());
      CHECK(std::equal(some.begin(), some.begin() + n, all.begin() + first));
    }
}

TEST_CASE("the error for an unsupported instruction set lists the supported ones", "[kernels]") {
  const test::Environment only("LLMCALC_ISA", "mmx");
  CHECK_THROWS_WITH(make_cpu(Number::f32),
                    Catch::StartsWith("LLMCALC_ISA: this processor supports ") && Catch::EndsWith("portable; got "
                                                                                                  "\"mmx\""));
}

TEST_CASE("matmuls of the CPU backends match double precision", "[kernels]") {
  for (const Number number : {Number::f32, Number::bf16, Number::f16})
    // One row, a few rows, an odd block for our own kernel, a size for the library, and one with many tiles.
    for (const auto& [m, n, k] : {std::tuple{1, 33, 7}, {3, 130, 33}, {33, 7, 130}, {130, 131, 137}, {300, 70, 600}})
      for (const bool wide : {false, true}) {
        INFO(name_of(number) << ", " << m << " x " << n << " x " << k);
        Lab lab(number, make_cpu(number, true));
        const Linear s{.rows = m, .in = k, .out = n, .bias = true};
        const Count stride = k + 5;
        const Pair x = lab.input(m * stride), w = lab.input(n * k), b = lab.input(n), y = lab.output(m * n, wide);
        lab.run([&](Backend& c, auto p) {
          c.linear(s, {.x = p(x), .weight = p(w), .bias = p(b), .x_stride = stride, .wide_output = wide}, p(y));
        });
        lab.check("y", y);
        const Pair rows_of_x = lab.input(m * k), dy = lab.input(m * n, wide), dw = lab.input(n * k, true);
        const Pair db = lab.input(n, true), dx = wide ? lab.output(m * k) : lab.input(m * k);
        lab.run([&](Backend& c, auto p) {
          c.linear_gradient(s, {.x = p(rows_of_x), .weight = p(w), .wide_output = wide}, p(dy), p(dx), !wide, p(dw),
                            p(db));
        });
        lab.check("dx", dx);
        lab.check("dw", dw);
        lab.check("db", db);
        const Pair narrow = lab.input(m * n), written = lab.output(n * k, true);
        lab.run([&](Backend& c, auto p) {
          const LinearView v{.x = p(rows_of_x), .weight = p(w), .add_weight_gradient = false};
          c.linear_gradient(s, v, p(narrow), p(dx), false, p(written), nullptr);
        });
        lab.check("dw written", written);
      }
}
