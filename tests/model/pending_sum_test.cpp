// Sums that wait for a norm: the bits of a sum and a norm one after the other, whatever else is asked for in between.
// On the GPU's stand-in, which counts its kernels, and on a GPU where tests are told of one.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/lab.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::identical;
using test::Lab;
using test::Numbers;
using test::Pair;

namespace {

/// A sum of two and its norm, of small size unless told otherwise.
struct Bench {
  Lab lab;
  Norm s;
  Pair a, b, weight, bias, x, y, statistics;
  Bench(test::MakeBackend make, Number number, Count width, bool centred, Count rows = 5)
      : lab(number, make(number, true)),
        s{.rows = rows, .width = width, .centred = centred},
        a(lab.input(rows * width)),
        b(lab.input(rows * width)),
        weight(lab.input(width)),
        bias(lab.input(width)),
        x(lab.output(rows * width)),
        y(lab.output(rows * width)),
        statistics(lab.output(rows * (centred ? 2 : 1), true)) {}

  Backend& gpu() { return lab.tested(); }
  Bytes bytes() { return a.n * gpu().number(); }
  void add() { gpu().add({.rows = s.rows, .width = s.width}, a.tested, b.tested, x.tested); }
  void norm() {
    gpu().norm(s,
               {.x = x.tested, .weight = weight.tested, .bias = s.centred ? bias.tested : nullptr, .x_stride = s.width},
               y.tested, statistics.tested);
  }
  Numbers read(const Pair& p) {
    Numbers all(static_cast<std::size_t>(p.n));
    gpu().read(all, p.tested, p.wide);
    return all;
  }
  /// Sum, norm and statistics.
  std::vector<Numbers> results() { return {read(x), read(y), read(statistics)}; }
  void wipe() {
    for (const Pair& p : {x, y, statistics})
      gpu().write(p.tested, Numbers(static_cast<std::size_t>(p.n), std::nan("")), p.wide);
  }
};

/// f(bench) wherever there is a GPU, in both formats.
template <typename F>
void everywhere(F f) {
  for (const test::MakeBackend make : test::gpus())
    for (const Number number : {Number::f32, Number::bf16}) {
      Bench bench(make, number, 24, true);
      INFO(bench.gpu().name());
      f(bench);
    }
}

}  // namespace

TEST_CASE("a sum and its norm by one kernel are the bits of two", "[kernels]") {
  for (const test::MakeBackend make : test::gpus())
    for (const Number number : {Number::f32, Number::bf16})
      for (const bool centred : {false, true})
        for (const Count width : {Count{8}, Count{33}, Count{768}, Count{60000}}) {  // the last is too long to be kept
          Bench bench(make, number, width, centred, width > 1000 ? 2 : 5);
          INFO(bench.gpu().name() << ", width " << width << ", centred " << centred);
          bench.add();
          bench.gpu().wait();
          bench.norm();
          const std::vector<Numbers> two = bench.results();
          bench.wipe();
          bench.add();
          bench.norm();
          const std::vector<Numbers> one = bench.results();
          for (std::size_t i = 0; i < one.size(); ++i) CHECK(identical(one[i], two[i]));
        }
}

TEST_CASE("a norm makes the sum that it reads, and no other", "[kernels]") {
  Bench bench(test::make_emulated, Number::f32, 24, false);
  const auto kernels = [&](const auto& f) {
    const std::int64_t before = test::launches();
    f();
    bench.gpu().wait();
    return test::launches() - before;
  };
  CHECK(kernels([&] { bench.add(), bench.norm(); }) == 1);
  CHECK(kernels([&] { bench.add(), bench.gpu().wait(), bench.norm(); }) == 2);
  CHECK(kernels([&] { bench.norm(); }) == 1);
  const NormView apart{.x = bench.x.tested, .x_stride = 2 * bench.s.width}, other{.x = bench.a.tested, .x_stride = 24};
  const Norm last{.rows = 2, .width = bench.s.width};
  CHECK(kernels([&] { bench.add(), bench.gpu().norm(last, apart, bench.y.tested, nullptr); }) == 2);
  CHECK(kernels([&] { bench.add(), bench.gpu().norm(bench.s, other, bench.y.tested, nullptr); }) == 2);
}

TEST_CASE("a sum's terms may be released, and their memory asked for again, before its norm", "[kernels]") {
  everywhere([](Bench& bench) {
    bench.add();
    bench.norm();
    const std::vector<Numbers> before = bench.results();
    bench.wipe();
    bench.add();
    for (Pair* p : {&bench.a, &bench.b}) bench.gpu().release(p->tested, bench.bytes());
    for (Pair* p : {&bench.a, &bench.b}) p->tested = bench.gpu().allocate(bench.bytes());  // filled with NaN
    bench.norm();
    const std::vector<Numbers> after = bench.results();
    for (std::size_t i = 0; i < after.size(); ++i) CHECK(identical(after[i], before[i]));
  });
}

TEST_CASE("whatever reads a sum or writes it, or writes its terms, comes after it", "[kernels]") {
  everywhere([](Bench& bench) {
    bench.add();
    const Numbers x = bench.read(bench.x), b = bench.read(bench.b), noughts(x.size(), 0.0);
    Backend& k = bench.gpu();
    const Bytes bytes = bench.bytes();
    const Pair copied = bench.lab.output(bench.x.n), summed = bench.lab.output(bench.x.n);
    const auto ask = [&](const auto& f) { bench.wipe(), bench.add(), f(); };

    ask([&] { k.copy(copied.tested, bench.x.tested, bytes); });
    CHECK(identical(bench.read(copied), x));
    k.zero(summed.tested, bytes);
    ask([&] { k.accumulate(bench.x.n, bench.x.tested, summed.tested); });
    CHECK(identical(bench.read(summed), x));
    ask([&] { k.zero(bench.x.tested, bytes); });
    CHECK(bench.read(bench.x) == noughts);
    const std::vector<std::byte> zeros(static_cast<std::size_t>(bytes.value));
    ask([&] { k.upload(bench.x.tested, zeros.data(), bytes); });
    CHECK(bench.read(bench.x) == noughts);
    ask([&] { k.write(bench.a.tested, noughts, false); });
    CHECK(identical(bench.read(bench.x), x));
    ask([&] { k.zero(bench.b.tested, bytes); });  // a is 0 by now
    CHECK(identical(bench.read(bench.x), b));
  });
}

TEST_CASE("a product of matrices comes after the sum that it reads", "[kernels]") {
  for (const test::MakeBackend make : test::gpus()) {
    Bench bench(make, Number::f32, 24, true, 20);  // more rows than a kernel multiplies
    const Linear s{.rows = bench.s.rows, .in = bench.s.width, .out = 7};
    const Pair w = bench.lab.input(s.out * s.in), z = bench.lab.output(s.rows * s.out);
    bench.lab.run([&](Backend& k, auto p) {
      k.add({.rows = s.rows, .width = s.in}, p(bench.a), p(bench.b), p(bench.x));
      k.linear(s, {.x = p(bench.x), .weight = p(w)}, p(z));
    });
    bench.lab.check("z", z);
  }
}

TEST_CASE("a sum that is released unread is not done", "[kernels]") {
  Bench bench(test::make_emulated, Number::f32, 24, false);
  const std::int64_t before = test::launches();
  bench.add();
  for (const Pair& p : {bench.a, bench.x}) bench.gpu().release(p.tested, bench.bytes());
  bench.gpu().wait();
  CHECK(test::launches() == before);
}
