// Compares GpuDevice::matmul on a computing stand-in with a plain loop: layouts, transposes, strides, formats, biases.

#include <cmath>

#include "model/cuda/device.cuh"
#include "model/cuda/workspace.hpp"
#include "model/math/numbers.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using model::bf16;
using model::MatmulShape;
using model::cuda::GpuDevice;

namespace {

/// Values of a matmul's operands, rounded to bfloat16 if `from_bf16`.
struct Operands {
  bool from_bf16 = false, to_f32 = true;
  std::vector<float> a, b, c, bias;  ///< bias: may be empty
};

GpuDevice& device() {
  static GpuDevice one(0);
  return one;
}

template <typename X>
using DeviceWorkspace = model::cuda::DeviceWorkspace<GpuDevice, X>;

template <typename X>
std::vector<X> as(const std::vector<float>& numbers) {
  return {numbers.begin(), numbers.end()};
}

template <typename From, typename To>
std::vector<float> product(const model::MatmulShape& s, const Operands& o, bool& bias_added) {
  const DeviceWorkspace<From> a(device(), as<From>(o.a)), b(device(), as<From>(o.b));
  const DeviceWorkspace<To> c(device(), as<To>(o.c)), bias(device(), as<To>(o.bias));
  bias_added = device().matmul(s, o.from_bf16, o.to_f32, a.data(), b.data(), c.data(), true,
                               o.bias.empty() ? nullptr : bias.data());
  std::vector<To> result(o.c.size());
  device().download(result.data(), c.data(), static_cast<Count>(result.size() * sizeof(To)));
  return {result.begin(), result.end()};
}

std::vector<float> multiplied(const model::MatmulShape& s, const Operands& o, bool& bias_added) {
  if (!o.from_bf16) return product<float, float>(s, o, bias_added);
  return o.to_f32 ? product<bf16, float>(s, o, bias_added) : product<bf16, bf16>(s, o, bias_added);
}

/// Whole numbers from -3 to 3, so that sums of products are exact in every tested format.
std::vector<float> numbers(Count n, Count salt) {
  std::vector<float> all(static_cast<std::size_t>(n));
  for (Count i = 0; i < n; ++i)
    all[static_cast<std::size_t>(i)] = static_cast<float>((i * i + salt * i + salt) % 7 - 3);
  return all;
}

/// Element (i, j) of a row-major matrix or its transpose.
float at(const std::vector<float>& m, Count ld, bool transposed, Count i, Count j) {
  return m[static_cast<std::size_t>(transposed ? j * ld + i : i * ld + j)];
}

float rounded(float x, bool to_f32) {
  if (to_f32) return x;
  int exponent = 0;
  const float fraction = std::frexp(x, &exponent);  // bfloat16 has 8 bits of it, ties to even
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

/// C by definition, with a bias only if the device added it.
std::vector<float> expected(const MatmulShape& s, const Operands& o, bool bias_added) {
  std::vector<float> c = o.c;
  for (Count i = 0; i < s.m; ++i)
    for (Count j = 0; j < s.n; ++j) {
      float& to = c[static_cast<std::size_t>(i * s.ldc + j)];
      float sum = s.add ? to : 0;
      for (Count k = 0; k < s.k; ++k) sum += at(o.a, s.lda, s.transpose_a, i, k) * at(o.b, s.ldb, s.transpose_b, k, j);
      if (bias_added) sum += o.bias[static_cast<std::size_t>(j)];
      to = rounded(sum, o.to_f32);
    }
  return c;
}

struct Case {
  bool transpose_a, transpose_b, add, strided, biased, from_bf16, to_f32;
};

/// All valid combinations: a bias needs contiguous rows of C, and float operands have float results.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (unsigned bits = 0; bits < 128; ++bits) {
    const auto bit = [bits](unsigned i) { return (bits >> i & 1) != 0; };
    const Case c{bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6)};
    if (!(c.biased && (c.strided || c.add)) && (c.from_bf16 || c.to_f32)) all.push_back(c);
  }
  return all;
}

MatmulShape shape_of(const Case& c) {
  constexpr Count m = 5, n = 7, k = 11;
  const Count gap = c.strided ? 3 : 0;
  MatmulShape s{.m = m, .n = n, .k = k, .transpose_a = c.transpose_a, .transpose_b = c.transpose_b, .add = c.add};
  s.lda = (c.transpose_a ? m : k) + gap;
  s.ldb = (c.transpose_b ? k : n) + 2 * gap;
  s.ldc = n + 3 * gap;
  return s;
}

Operands operands_of(const Case& c, const MatmulShape& s) {
  return {c.from_bf16,
          c.to_f32,
          numbers((c.transpose_a ? s.k : s.m) * s.lda, 2),
          numbers((c.transpose_b ? s.n : s.k) * s.ldb, 3),
          numbers(s.m * s.ldc, 4),
          c.biased ? numbers(s.n, 5) : std::vector<float>()};
}

}  // namespace

TEST_CASE("a matmul on a GPU equals a plain loop in every layout and format", "[products]") {
  REQUIRE(cases().size() == 60);  // 2 transposes each, times 5 ways (add x strided, or biased), times 3 formats
  for (const Case& c : cases()) {
    const MatmulShape s = shape_of(c);
    const Operands o = operands_of(c, s);
    INFO(c.transpose_a << c.transpose_b << c.add << c.strided << c.biased << c.from_bf16 << c.to_f32);
    bool bias_added = false;
    const std::vector<float> c_tested = multiplied(s, o, bias_added);
    CHECK(c_tested == expected(s, o, bias_added));
    CHECK(bias_added == c.biased);
  }
}

TEST_CASE("in deterministic mode, the bias of a matmul is added by a separate kernel", "[products]") {
  const Case c{false, false, false, false, true, false, true};  // a bias, and float operands
  const MatmulShape s = shape_of(c);
  const Operands o = operands_of(c, s);
  bool bias_added = true;
  device().set_deterministic(true);
  CHECK(multiplied(s, o, bias_added) == expected(s, o, false));
  device().set_deterministic(false);
  CHECK_FALSE(bias_added);
}
