#include "tests/standin/product.hpp"

#include <cstring>

#include "tests/standin/memory.hpp"
#include "tests/standin/rules.hpp"

namespace llmcalc::standin {
namespace {

/// Multiply-adds of the largest matmul that is actually computed.
constexpr std::uint64_t small = std::uint64_t{1} << 18;

void check_matrix(const Matrix& m) {
  const Layout& l = m.layout;
  require(l.rows > 0 && l.columns > 0, m.name + " of a matmul is empty");
  require(l.ld >= static_cast<std::int64_t>(l.rows), m.name + " of a matmul has columns that overlap");
  require(reinterpret_cast<std::uintptr_t>(m.data) % l.number() == 0, m.name + " of a matmul is not aligned");
  memory().require_live(m.data, l.bytes(), m.name + " of a matmul");
}

bool overlap(const Matrix& l, const Matrix& r) {
  const auto *a = static_cast<const char*>(l.data), *b = static_cast<const char*>(r.data);
  return a < b + r.layout.bytes() && b < a + l.layout.bytes();
}

float number_at(const void* data, cudaDataType_t type, std::uint64_t i) {
  const auto* const p = static_cast<const char*>(memory().contents(data));
  if (type == CUDA_R_32F) return reinterpret_cast<const float*>(p)[i];
  const auto bits = static_cast<std::uint32_t>(reinterpret_cast<const std::uint16_t*>(p)[i]) << 16;
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// Rounds to the nearest bfloat16, ties to even.
std::uint16_t rounded(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof x);
  constexpr std::uint32_t all_but_sign = 0x7fffffff, infinity = 0x7f800000;
  if ((bits & all_but_sign) > infinity) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void set_number(const void* data, cudaDataType_t type, std::uint64_t i, float x) {
  auto* const p = static_cast<char*>(memory().contents(data));
  if (type == CUDA_R_32F)
    reinterpret_cast<float*>(p)[i] = x;
  else
    reinterpret_cast<std::uint16_t*>(p)[i] = rounded(x);
}

/// Element (i, j) of op(M).
float number_of(const Matrix& m, std::uint64_t i, std::uint64_t j) {
  const auto ld = static_cast<std::uint64_t>(m.layout.ld);
  return number_at(m.data, m.layout.type, m.transposed ? j + i * ld : i + j * ld);
}

}  // namespace

void Product::check() const {
  for (const Matrix* m : {&a, &b, &d}) check_matrix(*m);
  require(a.rows() == d.rows() && b.columns() == d.columns() && a.columns() == b.rows(),
          "the matrices of a matmul have incompatible sizes");
  require(a.layout.type == b.layout.type, "A and B of a matmul are of different types");
  require(!overlap(a, d) && !overlap(b, d), "the result of a matmul overlaps an operand");
  if (bias != nullptr) memory().require_live(bias, d.rows() * d.layout.number(), "the bias of a matmul");
}

void Product::run() const {
  if (a.rows() * a.columns() * b.columns() > small) return;
  for (std::uint64_t j = 0; j < d.columns(); ++j)
    for (std::uint64_t i = 0; i < d.rows(); ++i) {
      float sum = beta != 0 ? beta * number_of(d, i, j) : 0;
      for (std::uint64_t k = 0; k < a.columns(); ++k) sum += number_of(a, i, k) * number_of(b, k, j);
      if (bias != nullptr) sum += number_at(bias, d.layout.type, i);
      set_number(d.data, d.layout.type, i + j * static_cast<std::uint64_t>(d.layout.ld), sum);
    }
}

}  // namespace llmcalc::standin
