// Compares the CUDA backend's matmuls with double, on the GPU emulator and on a GPU.

#include "tests/catch.hpp"
#include "tests/model/lab.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::each_lab;
using test::Lab;
using test::Pair;

namespace {

/// Checks a matrix's first gradient, written over NaN, and a second one that is added to it.
void check_two_gradients(Lab& lab, const Linear& s, const LinearView& shape, const Pair& choice) {
  const Pair x = lab.input(s.rows * s.in), weight = lab.input(s.groups * s.out * s.in), dy = lab.input(s.rows * s.out);
  const Pair dx = lab.output(s.rows * s.in), dw = lab.output(s.groups * s.out * s.in, true);
  const auto gradient = [&](bool add) {
    lab.run([&](Backend& k, auto p) {
      LinearView v = shape;
      v.x = p(x);
      v.weight = p(weight);
      v.choice = choice.n > 0 ? p(choice) : nullptr;
      v.add_weight_gradient = add;
      k.linear_gradient(s, v, p(dy), p(dx), add, p(dw), nullptr);
    });
  };
  gradient(false);
  lab.check("dw, written", dw);
  gradient(true);
  lab.check("dw, added to", dw);
}

}  // namespace

TEST_CASE("the first gradient of a matrix overwrites uninitialized memory", "[kernels]") {
  each_lab([](Lab& lab) {
    for (const auto& [rows, in, out] : {std::tuple<Count, Count, Count>{1, 8, 8}, {13, 24, 40}, {70, 33, 7}})
      check_two_gradients(lab, {.rows = rows, .in = in, .out = out}, {}, {});
  });
}

TEST_CASE("the first gradient of an expert is written, and is 0 if the expert receives no tokens", "[kernels]") {
  each_lab([](Lab& lab) {
    const Count tokens = 9, experts = 4, top_k = 2;
    const Pointwise s{.kind = PointwiseKind::route, .rows = tokens, .width = experts, .top_k = top_k};
    const Pair logits = lab.input(tokens * experts), gates = lab.output(tokens * experts);
    const Pair saved = lab.output(2 * tokens * experts, true);
    std::vector<double> numbers;
    for (Count i = 0; i < tokens; ++i)  // cycles through pairs of three experts and skips a fourth
      for (const double x : {i % 3 == 0 ? 0.0 : 2.0, i % 3 == 1 ? 0.0 : 1.5, -8.0, i % 3 == 2 ? 0.0 : 1.0})
        numbers.push_back(x);
    lab.run([&](Backend& k, auto p) {
      k.write(p(logits), numbers, false);
      k.route(s, p(logits), p(gates), p(saved));
    });
    check_two_gradients(lab, {.rows = tokens * top_k, .in = 8, .out = 5, .groups = experts, .top_k = top_k}, {}, saved);
  });
}

namespace {

std::vector<double> numbers(Backend& b, In from, Count n, bool wide) {
  std::vector<double> all(static_cast<std::size_t>(n));
  b.read(all, from, wide);
  return all;
}

/// x W' + b on the emulator, with the bias added in the matmul's epilogue or afterward.
std::vector<double> with_bias(Number number, bool wide, bool epilogue) {
  test::add_biases_in_epilogues(epilogue);
  const Linear s{.rows = 20, .in = 24, .out = 13, .bias = true};
  Lab lab(number, test::make_emulated(number, true));
  const Pair x = lab.input(s.rows * s.in), w = lab.input(s.out * s.in), b = lab.input(s.out, false, 50);
  const Pair y = lab.output(s.rows * s.out, wide);
  lab.run(
      [&](Backend& k, auto p) { k.linear(s, {.x = p(x), .weight = p(w), .bias = p(b), .wide_output = wide}, p(y)); });
  lab.check("y", y);
  test::add_biases_in_epilogues(false);
  return numbers(lab.tested(), y.tested, y.n, wide);
}

}  // namespace

TEST_CASE("a bias is added by a matmul's epilogue or by a kernel after it", "[kernels]") {
  for (const Number number : {Number::f32, Number::bf16})
    for (const bool wide : {false, true}) {
      INFO((number == Number::f32 ? "float32" : "bfloat16") << ", wide " << wide);
      const std::vector<double> after = with_bias(number, wide, false), within = with_bias(number, wide, true);
      // An epilogue rounds once. It supports only biases in the result's format.
      CHECK((after == within) == (number == Number::bf16 && wide));
    }
}
