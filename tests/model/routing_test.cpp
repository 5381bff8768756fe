// Kernels assign tokens to experts in the same order as the host's routing.

#include "model/math/routing.hpp"

#include "tests/catch.hpp"
#include "tests/model/emulated.hpp"
#include "tests/models/longcat.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// Values in a backend's memory.
class Array {
 public:
  Array(Backend& b, Count n, bool wide = false)
      : b_(b), n_(n), wide_(wide), data_(b.allocate(n * (wide ? b.wide() : b.number()))) {}
  Array(Backend& b, const std::vector<double>& from) : Array(b, static_cast<Count>(from.size())) {
    b.write(data_, from, false);
  }
  ~Array() { b_.release(data_, n_ * (wide_ ? b_.wide() : b_.number())); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  void* data() const { return data_; }
  std::vector<double> read() const {
    std::vector<double> all(static_cast<std::size_t>(n_));
    b_.read(all, data_, wide_);
    return all;
  }

 private:
  Backend& b_;
  Count n_;
  bool wide_;
  void* data_;
};

std::vector<double> counting(Count n) {
  std::vector<double> all;
  for (Count i = 0; i < n; ++i) all.push_back(static_cast<double>(i));
  return all;
}

void check_routing(Backend& b, Count tokens, Count experts, Count top_k, bool taping) {
  INFO(tokens << " tokens, " << experts << " experts, " << top_k << " each");
  std::vector<double> logits;
  for (Count i = 0; i < tokens * experts; ++i) logits.push_back(static_cast<double>(i * 7919 % 101) / 16);
  const Pointwise s{.kind = PointwiseKind::route, .rows = tokens, .width = experts, .top_k = top_k};
  const Array x(b, logits), gates(b, tokens * experts), saved(b, 2 * tokens * experts, true);
  b.route(s, x.data(), gates.data(), taping ? saved.data() : nullptr);
  const std::vector<double> chosen = gates.read();
  const TokenRouting r = routing(tokens, experts, chosen.data());
  REQUIRE(r.top_k == top_k);

  const Count rows = tokens * top_k;
  const Pointwise one{.rows = rows, .width = 1, .top_k = top_k};
  const Array token(b, counting(tokens)), sent(b, rows);
  b.dispatch(one, experts, gates.data(), token.data(), sent.data());
  CHECK(sent.read() == std::vector<double>(r.token.begin(), r.token.end()));

  const Pointwise back{.rows = tokens, .width = 1, .top_k = top_k};
  const Array ones(b, std::vector<double>(static_cast<std::size_t>(rows), 1)), sums(b, tokens),
      row_gates(b, rows, true);
  b.combine(back, experts, gates.data(), ones.data(), sums.data(), row_gates.data());
  std::vector<double> expected;
  for (Count e = 0; e < experts; ++e)
    for (Count i = r.first[static_cast<std::size_t>(e)]; i < r.first[static_cast<std::size_t>(e) + 1]; ++i)
      expected.push_back(chosen[static_cast<std::size_t>(r.token[static_cast<std::size_t>(i)] * experts + e)]);
  CHECK(row_gates.read() == expected);
  for (const double sum : sums.read()) CHECK(sum == Approx(1).epsilon(1e-5));

  if (!taping) return;
  const Array dx(b, tokens), row_number(b, counting(rows));
  b.dispatch_gradient(one, experts, saved.data(), row_number.data(), dx.data(), false);
  const std::vector<double> gradient = dx.read();
  for (Count t = 0; t < tokens; ++t) {
    Count all = 0;
    for (Count k = 0; k < top_k; ++k) all += r.row[static_cast<std::size_t>(t * top_k + k)];
    REQUIRE(gradient[static_cast<std::size_t>(t)] == static_cast<double>(all));
  }
}

}  // namespace

TEST_CASE("GPU kernels dispatch tokens to experts in the same order as the host", "[kernels]") {
  for (const test::MakeBackend make : test::gpus())
    for (const bool taping : {false, true}) {
      const std::unique_ptr<Backend> b = make(Number::f32, true);
      for (const auto& [tokens, experts, top_k] :
           {std::tuple{1, 8, 2}, {64, 4, 1}, {65, 5, 5}, {300, 7, 3}, {130, 70, 4}})
        check_routing(*b, tokens, experts, top_k, taping);
    }
}

TEST_CASE("the GPU backend rejects identity experts", "[kernels]") {
  const Arch arch = test::returning_variants().front().arch;
  for (const test::MakeBackend make : test::gpus()) {
    const std::unique_ptr<Backend> gpu = make(Number::f32, true);
    CHECK_THROWS_WITH(Transformer(arch, *gpu, {.plan = test::tiny_plan()}, 1),
                      "the CUDA kernels do not support identity experts, which this model's layers use; use --device "
                      "cpu");
  }
}
