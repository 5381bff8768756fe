// Compares all matrix multiplication algorithms with a plain loop.

#include <cmath>

#define LLMCALC_ISA tested  // instances for this test only
#include "model/cpu/products/matmul.hpp"
#include "model/random.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// Compares every algorithm with a plain loop for one combination of types.
template <typename T, typename C>
void check_matmul(const MatmulShape& s, double tolerance) {
  const auto numbers = [](Count n, std::uint64_t stream) {
    std::vector<T> v(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i)
      v[i] = T(static_cast<model::Wide<T>>(uniform<double>(random_key(2), random_counter(i, stream)) - 0.5));
    return v;
  };
  const std::vector<T> a = numbers(s.lda * (s.transpose_a ? s.k : s.m), 1);
  const std::vector<T> b = numbers(s.ldb * (s.transpose_b ? s.n : s.k), 2);
  std::vector<C> exact(static_cast<std::size_t>(s.ldc * s.m), C(model::Wide<C>(0.5F)));
  std::vector<std::vector<C>> results(3, exact);
  tested::plain_matmul(s, a.data(), b.data(), exact.data());
  tested::packed_matmul(s, a.data(), b.data(), results[0].data());
  tested::matmul(s, a.data(), b.data(), results[1].data());
  results[2] = exact;
  if (!s.transpose_a) {
    std::fill(results[2].begin(), results[2].end(), C(model::Wide<C>(0.5F)));
    tested::thin_matmul(s, a.data(), b.data(), results[2].data());
  }
  for (const std::vector<C>& c : results) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double x = static_cast<double>(wide(c[i])), y = static_cast<double>(wide(exact[i]));
      difference += (x - y) * (x - y);
      norm += y * y;
    }
    CHECK(std::sqrt(difference) <= tolerance * std::sqrt(norm));
  }
}

}  // namespace

TEST_CASE("every matmul algorithm computes the product and writes only to the result", "[matmul]") {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {5, 7, 3}, {13, 33, 130}, {97, 65, 257}, {129, 130, 128}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const bool add : {false, true}) {
          INFO(m << " x " << n << " x " << k << ", transposed " << ta << tb << ", add " << add);
          const MatmulShape s{m, n, k, ta, tb, add, (ta ? m : k) + 3, (tb ? k : n) + 2, n + 1, false};
          check_matmul<float, float>(s, 1e-6);
          check_matmul<double, double>(s, 1e-14);
          check_matmul<bf16, bf16>(s, 5e-3);
          check_matmul<bf16, float>(s, 1e-6);
          check_matmul<fp16, fp16>(s, 7e-4);
          check_matmul<fp16, float>(s, 1e-6);
        }
}

namespace {

/// The product of some rows of `all` must be bitwise equal to the same rows of the whole product.
template <typename T>
void check_rows_alike(Count all, Count n, Count k) {
  std::vector<T> a(static_cast<std::size_t>(all * k)), b(static_cast<std::size_t>(n * k));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(uniform(random_key(1), random_counter(i)));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(uniform(random_key(2), random_counter(i)));
  std::vector<T> whole(static_cast<std::size_t>(all * n)), part(whole.size());
  tested::matmul(MatmulShape{all, n, k, false, true, false, k, k, n, all}, a.data(), b.data(), whole.data());
  for (const Count rows : {Count{1}, Count{3}, Count{12}, Count{13}, all / 3, all - 1}) {
    tested::matmul(MatmulShape{rows, n, k, false, true, false, k, k, n, all}, a.data(), b.data(), part.data());
    const auto bits = [](T x) { return static_cast<float>(x); };
    CHECK(
        std::equal(part.begin(), part.begin() + rows * n, whole.begin(), [=](T x, T y) { return bits(x) == bits(y); }));
  }
}

}  // namespace

TEST_CASE("an expert's rows are bitwise independent of its number of tokens", "[matmul]") {
  for (const Count all : {16, 50, 400}) {
    check_rows_alike<float>(all, 70, 300), check_rows_alike<bf16>(all, 70, 300);
    check_rows_alike<float>(all, 352, 512), check_rows_alike<bf16>(all, 352, 512);
    check_rows_alike<fp16>(all, 70, 300), check_rows_alike<fp16>(all, 352, 512);
  }
}

TEST_CASE("counting a matmul's operations gives one multiplication and one addition per term", "[matmul]") {
  const Count m = 3, n = 5, k = 7;
  const std::vector<Counted> a(m * k, Counted(2)), b(n * k, Counted(3));
  std::vector<Counted> c(m * n, Counted(1));
  const Tally before = Counted::tally;
  tested::matmul(MatmulShape{m, n, k, false, true, false, k, k, n}, a.data(), b.data(), c.data());
  CHECK(Counted::tally.multiplies - before.multiplies == m * n * k);
  CHECK(Counted::tally.adds - before.adds == m * n * k);
  CHECK(c[0].value == 2 * 3 * k);
}
