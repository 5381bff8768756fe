// Mixes of residual streams: their results, the streams each layer reads, and the engine's counts for single layers.

#include <cmath>

#include "calc/block/mixed_residual.hpp"
#include "model/cpu/make.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/models/kimi.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// Values in a backend's memory.
class Held {
 public:
  Held(Backend& b, const std::vector<double>& x) : b_(b), n_(x.size()), data_(b.allocate(bytes())) {
    b.write(data_, x, false);
  }
  ~Held() { b_.release(data_, bytes()); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void* data() const { return data_; }
  std::vector<double> read() const {
    std::vector<double> x(n_);
    b_.read(x, data_, false);
    return x;
  }

 private:
  Bytes bytes() const { return static_cast<Count>(n_) * b_.number(); }
  Backend& b_;
  std::size_t n_;
  void* data_;
};

}  // namespace

// Streams (3, 4) and (1, -1) of one token, epsilon 0: the root mean squares in their norms are sqrt(12.5) and 1. With q
// (1, 2) and w (2, 0.5) the scores are (2 x 3 + 1 x 4) / sqrt(12.5) = sqrt(8) and 2 - 1 = 1.
TEST_CASE("a residual mix is the sum of streams weighted by the softmax of their scores", "[mixed]") {
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
  const Held first(*cpu, {3, 4}), second(*cpu, {1, -1}), query(*cpu, {1, 2}), norm(*cpu, {2, 0.5}), y(*cpu, {0, 0});
  const std::array<const void*, 2> streams{first.data(), second.data()};
  const MixView v{streams, 2, query.data(), norm.data(), 0};
  cpu->mix({.kind = PointwiseKind::mix, .rows = 1, .width = 2, .top_k = 2}, v, y.data());
  const double share = 1 / (1 + std::exp(1 - std::sqrt(8)));
  CHECK(y.read()[0] == Approx(3 * share + 1 * (1 - share)).epsilon(1e-14));
  CHECK(y.read()[1] == Approx(4 * share - 1 * (1 - share)).epsilon(1e-14));
}

// Blocks of two layers: layer 0 saves the embedding, layer 2 the output of layers 0 and 1, layer 4 the output of layers
// 2 and 3.
TEST_CASE("each residual mix reads all streams saved before it and the current one", "[mixed]") {
  Arch a = test::tiny_llama();
  a.layers = 5;
  a.residual_block = 2;
  const std::array<Count, 5> first{1, 2, 2, 3, 3}, later{2, 2, 3, 3, 4};
  for (Count i = 0; i < 5; ++i) {
    CHECK(mixed_tensors(a, i, true) == first[static_cast<std::size_t>(i)]);
    CHECK(mixed_tensors(a, i, false) == later[static_cast<std::size_t>(i)]);
  }
  CHECK(mixed_at_end(a) == 4);
  CHECK(layer_kinds(a).size() == 2);  // layers that begin a block, and the others
}

namespace {

/// Logits of two layers with zero mixers and MLPs, without a final norm.
std::vector<double> logits_of_nothing(Count residual_block) {
  test::Variant v{"", test::tiny_llama(), test::tiny_plan()};
  v.arch.layers = 2;
  v.arch.final_norm = false;
  v.arch.residual_block = residual_block;
  const std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
  Transformer t(v.arch, *cpu, {.plan = v.plan}, 7);
  for (Parameter& p : t.weights().all()) {
    std::vector<double> x(static_cast<std::size_t>(p.elements()), 0.0);
    const bool is_end = p.shape.name.starts_with("embedding.") || p.shape.name == "head.logits.weight";
    for (std::size_t k = 0; is_end && k < x.size(); ++k) x[k] = std::sin(static_cast<double>(k));
    t.weights().set(p, x);
  }
  return t.all_logits(std::vector<std::int64_t>{1, 2, 3}, 1);
}

}  // namespace

// With two blocks of one layer, the head averages the embedding and two restarted streams that are 0. With one block of
// two layers, it averages the embedding and one such stream. Without blocks, it reads the embedding.
TEST_CASE("the residual stream restarts at each block", "[mixed]") {
  const std::vector<double> whole = logits_of_nothing(0), half = logits_of_nothing(2), third = logits_of_nothing(1);
  REQUIRE(test::norm(whole) > 0.1);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CHECK(2 * half[i] == Approx(whole[i]).margin(1e-12));
    CHECK(3 * third[i] == Approx(whole[i]).margin(1e-12));
  }
}
