// Compares kernels that process elements in packs with double, on the GPU emulator and on a GPU: arrays that begin
// between packs and end inside one.

#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/lab.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Lab;
using test::Pair;

namespace {

constexpr Count n = 1003;  // whole packs and a remainder

/// Calls f(lab, skip) on every tested GPU backend in both formats; arrays begin `skip` elements after a pack boundary.
template <typename F>
void each_begin(F f) {
  for (const test::MakeBackend make : test::gpus())
    for (const Number number : {Number::f32, Number::bf16})
      for (const Count skip : {0, 1}) {
        std::unique_ptr<Backend> tested = make(number, true);
        INFO(tested->name() << ", " << skip << " past a pack");
        Lab lab(number, std::move(tested));
        f(lab, skip);
      }
}

void* past(void* data, Bytes bytes) { return static_cast<std::byte*>(data) + bytes.value; }

}  // namespace

TEST_CASE("element-wise kernels accept arrays of any alignment", "[kernels]") {
  each_begin([](Lab& lab, Count skip) {
    const Pointwise s{.rows = 1, .width = n};
    const Pair a = lab.input(n + 1), b = lab.input(n + 1), y = lab.input(n + 1), z = lab.input(n + 1);
    lab.run([&](Backend& k, auto p) {
      const auto at = [&](const Pair& x) { return past(p(x), skip * k.number()); };
      k.add(s, at(a), at(b), at(y));
      k.accumulate(n, at(b), at(y));
      k.activate(s, Activation::silu, at(a), at(z));
      k.gate_gradient(s, Activation::silu, at(a), at(b), at(y), at(z), true, at(b), true);
    });
    lab.check("sums", y);
    lab.check("gate, da", z);
    lab.check("gate, db", b);
  });
}

TEST_CASE("optimizers accept arrays of any alignment", "[kernels]") {
  each_begin([](Lab& lab, Count skip) {
    const Pair g = lab.input(n + 1, true), w = lab.input(n + 1), master = lab.input(n + 1, true);
    const Pair m = lab.input(n + 1, true), v = lab.output(n + 1, true), plain = lab.input(n + 1);
    std::vector<double> squares;
    lab.run([&](Backend& k, auto p) {
      const auto at = [&](const Pair& x) { return past(p(x), skip * (x.wide ? k.wide() : k.number())); };
      k.zero(p(v), (n + 1) * k.wide());
      const std::vector<double> left = test::left_by(k, 2, [&](double* numbers) {
        const double half = 0.5;
        k.upload(numbers, &half, Bytes(sizeof half));
        const ParameterUpdate only{.n = n, .gradient = at(g)};
        k.multiply_by({&only, 1}, numbers);
        k.square_sums({&only, 1}, numbers + 1);
      });
      squares.push_back(left[1]);
      const ParameterUpdate whole{
          .n = n, .gradient = at(g), .weight = at(w), .master = at(master), .first = at(m), .second = at(v)};
      k.update({&whole, 1}, {.decay = 0.1, .step = 3});
      const ParameterUpdate bare{.n = n, .gradient = at(g), .weight = at(plain)};
      k.update({&bare, 1}, {.optimizer = Optimizer::momentum, .rate = 1e-2, .decay = 0.1});
    });
    CHECK(squares[0] == Approx(squares[1]).epsilon(1e-6));
    lab.check("weight", w);
    lab.check("master", master);
    lab.check("m", m);
    lab.check("v", v);
    lab.check("without a master or a velocity", plain);
  });
}

TEST_CASE("norms accept rows with any alignment, stride or head width", "[kernels]") {
  each_begin([](Lab& lab, Count skip) {
    for (const auto& [width, gap, heads] : {std::tuple<Count, Count, Count>{64, 8, 1}, {64, 3, 1}, {24, 0, 2}})
      for (const bool centered : {true, false}) {
        INFO("width " << width << ", gap " << gap << ", heads " << heads);
        const Count rows = 70, stride = width + gap;
        const Norm s{.rows = rows, .width = width, .centered = centered};
        const Pair x = lab.input(rows * stride + 1), w = lab.input(heads * width), y = lab.output(rows * width);
        const Pair dy = lab.input(rows * width), dx = lab.input(rows * stride + 1), dw = lab.input(heads * width, true);
        const NormView shape{.heads = heads, .x_stride = stride};
        lab.run([&](Backend& k, auto p) {
          const auto at = [&](const Pair& a) { return past(p(a), skip * k.number()); };
          NormView v = shape;
          v.x = at(x);
          v.weight = p(w);
          k.norm(s, v, p(y), nullptr);
          k.norm_gradient(s, v, nullptr, p(dy), at(dx), true, p(dw), nullptr);
        });
        lab.check("y", y);
        lab.check("dx", dx);
        lab.check("dw", dw);
      }
  });
}

TEST_CASE("norms support rows and column sums larger than a thread block's shared memory", "[kernels]") {
  each_begin([](Lab& lab, Count) {
    for (const Count width : {Count{60000}, Count{10000}}) {
      INFO("width " << width);
      const Norm s{.rows = 20, .width = width, .centered = true};
      const Pair x = lab.input(s.rows * width), y = lab.output(s.rows * width), dy = lab.input(s.rows * width);
      const Pair w = lab.input(width), dx = lab.output(s.rows * width);
      const Pair dw = lab.input(width, true), db = lab.input(width, true);
      lab.run([&](Backend& k, auto p) {
        const NormView v{.x = p(x), .weight = p(w), .x_stride = width};
        k.norm(s, v, p(y), nullptr);
        k.norm_gradient(s, v, nullptr, p(dy), p(dx), false, p(dw), p(db));
      });
      lab.check("y", y);
      lab.check("dx", dx);
      lab.check("dw", dw);
      lab.check("db", db);
    }
  });
}

TEST_CASE("bias gradients match double precision for widths with and without packed loads", "[kernels]") {
  each_begin([](Lab& lab, Count) {
    for (const Count out : {Count{264}, Count{35}}) {
      const Count rows = 300;
      const Linear s{.rows = rows, .in = 8, .out = out, .bias = true};
      const Pair x = lab.input(rows * 8), w = lab.input(out * 8), dy = lab.input(rows * out);
      const Pair dx = lab.output(rows * 8), dw = lab.input(out * 8, true), db = lab.input(out, true);
      lab.run([&](Backend& k, auto p) {
        k.linear_gradient(s, {.x = p(x), .weight = p(w)}, p(dy), p(dx), false, p(dw), p(db));
      });
      lab.check("db", db);
    }
  });
}
