// An indexer's selection, the gradient of its own loss, and models without indexers.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/model/compare.hpp"
#include "tests/model/emulated.hpp"
#include "tests/models/deepseek_v4.hpp"
#include "tests/models/sparse.hpp"
#include "text/error.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::Numbers;

namespace {

/// An indexer on one sequence of 9 tokens, in double: queries, keys and weights of its heads. Keys may be pooled; in
/// that case, "token" below means a group of tokens.
struct Bench {
  IndexScores s;
  bool weighted;
  Numbers q, k, w;
  std::unique_ptr<Backend> cpu = make_cpu(Number::f64, true);
  std::vector<ChosenIndex> chosen;

  Bench(const Indexer& i, Count past, Count pooled = 0)
      : s{.sequences = 1,
          .heads = i.heads,
          .queries = 9 - past,
          .keys = 9,
          .width = i.width,
          .selection = i.selection(),
          .pooled = pooled},
        weighted(i.kind == IndexerKind::lightning),
        q(drawn(s.queries * i.heads * i.width, 1)),
        k(drawn(s.all_keys() * i.width, 2)),
        w(drawn(s.queries * i.heads, 3)),
        chosen(static_cast<std::size_t>(s.chosen())) {}

  static Numbers drawn(Count n, std::uint64_t stream) {
    Numbers all;
    for (Count i = 0; i < n; ++i)
      all.push_back(normal_pair(random_key(5), random_counter(static_cast<std::uint64_t>(i), stream)).first);
    return all;
  }
  IndexView view(const Numbers& of_q, const Numbers& of_k, const Numbers& of_w) const {
    return {.q = {of_q.data(), s.queries * s.heads * s.width, s.heads * s.width, s.width},
            .k = {of_k.data(), s.all_keys() * s.width, s.width, 0},
            .weights = {weighted ? of_w.data() : nullptr, s.queries * s.heads, s.heads, 1}};
  }
  void choose(AttentionImpl how) { cpu->index_scores(s, view(q, k, w), how, chosen.data()); }

  /// Score of token j for query i, by definition.
  double score(Count i, Count j) const {
    double sum = 0;
    for (Count h = 0; h < s.heads; ++h) {
      const auto from = q.begin() + (i * s.heads + h) * s.width;
      const double product = std::inner_product(from, from + s.width, k.begin() + j * s.width, 0.0);
      sum += weighted ? w[static_cast<std::size_t>(i * s.heads + h)] * std::max(product, 0.0) : product;
    }
    return sum;
  }
  /// Largest score in a block of tokens, or the score of one token.
  double best(Count i, Count index) const {
    const Count size = std::max<Count>(1, s.selection.block);
    double most = -INFINITY;
    for (Count j = index * size; j < (index + 1) * size; ++j) most = std::max(most, score(i, j));
    return most;
  }
  /// Number of tokens, or of whole groups, up to query i.
  Count seen(Count i) const { return (s.past() + i + 1) / std::max<Count>(1, s.pooled); }
  /// Whether query i reads token j.
  bool reads(Count i, Count j) const {
    const Count size = std::max<Count>(1, s.selection.block), each = s.selection.indices(s.all_keys()),
                t = s.past() + i;
    if (j >= seen(i)) return false;
    if (s.selection.block > 0 && j / size == t / size) return true;
    const auto row = chosen.begin() + i * each;
    return std::find(row, row + each, static_cast<ChosenIndex>(j / size)) != row + each;
  }
};

Indexer lightning() { return {.kind = IndexerKind::lightning, .heads = 3, .width = 4, .top_k = 3}; }
Indexer blocks() { return {.kind = IndexerKind::blocks, .heads = 2, .width = 5, .top_k = 2, .block = 2}; }

/// KL(target || softmax(scores of the selected keys)), summed over queries. The target is uniform, except that the
/// first key has twice the weight.
double own_loss(const Bench& b, std::vector<double>* targets = nullptr) {
  double loss = 0;
  for (Count i = 0; i < b.s.queries; ++i) {
    std::vector<Count> keys;
    double sum = 0;
    for (Count j = 0; j < b.s.all_keys(); ++j)
      if (b.reads(i, j)) keys.push_back(j), sum += std::exp(b.score(i, j));
    for (std::size_t n = 0; n < keys.size(); ++n) {
      const double p = (n == 0 ? 2.0 : 1.0) / static_cast<double>(keys.size() + 1);
      loss += p * (std::log(p) - b.score(i, keys[n]) + std::log(sum));
      if (targets != nullptr) (*targets)[static_cast<std::size_t>(i * b.s.all_keys() + keys[n])] = p;
    }
  }
  return loss;
}

/// Largest difference between a gradient and central differences of the loss over the elements of x.
double off(Bench& b, Numbers& x, const Numbers& gradient) {
  double most = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double h = 1e-5, before = x[n];
    x[n] = before + h;
    const double above = own_loss(b);
    x[n] = before - h;
    const double below = own_loss(b);
    x[n] = before;
    most = std::max(most, std::fabs((above - below) / (2 * h) - gradient[n]));
  }
  return most;
}

}  // namespace

TEST_CASE("an indexer selects the highest-scoring tokens, groups, or blocks before the query's block", "[indexer]") {
  for (const auto& [i, pooled] : {std::pair{lightning(), 0}, {blocks(), 0}, {lightning(), 2}})
    for (const Count past : {0, 6})
      for (const AttentionImpl how : {AttentionImpl::flash, AttentionImpl::naive}) {
        Bench b(i, past, pooled);
        b.choose(how);
        const Count size = std::max<Count>(1, i.block), most = i.top_k;
        for (Count q = 0; q < b.s.queries; ++q) {
          const Count all = i.block > 0 ? (past + q) / size : b.seen(q);  // whole blocks before its own, or all
          for (Count j = 0; j < all; ++j) {
            Count better = 0;
            for (Count other = 0; other < all; ++other) {
              const double mine = b.best(q, j), its = b.best(q, other);
              better += its > mine || (its == mine && other < j);
            }
            CHECK(b.reads(q, j * size) == (better < most));
          }
        }
      }
}

TEST_CASE("on ties an indexer selects the lower index, and unused entries are -1", "[indexer]") {
  Bench b(lightning(), 0);
  std::fill(b.k.begin(), b.k.end(), 0.0);
  b.choose(AttentionImpl::flash);
  const std::vector<ChosenIndex> first{0, -1, -1, 0, 1, -1, 0, 1, 2, 0, 1, 2};
  CHECK(std::equal(first.begin(), first.end(), b.chosen.begin()));
}

TEST_CASE("the gradient of an indexer's loss equals central differences, and is zero without a target",
          "[indexer][gradient]") {
  for (const auto& [i, pooled] : {std::pair{lightning(), 0}, {blocks(), 0}, {lightning(), 2}}) {
    Bench b(i, 0, pooled);
    b.choose(AttentionImpl::flash);
    Numbers target(static_cast<std::size_t>(9 * b.s.all_keys())), dq(b.q.size()), dk(b.k.size()), dw(b.w.size());
    own_loss(b, &target);
    const IndexView to = b.view(dq, dk, dw);
    b.cpu->index_gradient(b.s, b.view(b.q, b.k, b.w), b.chosen.data(), nullptr, {to.q, to.k, to.weights});
    CHECK(test::norm(dq) + test::norm(dk) + test::norm(dw) == 0);
    b.cpu->index_gradient(b.s, b.view(b.q, b.k, b.w), b.chosen.data(), target.data(), {to.q, to.k, to.weights});
    CHECK(test::norm(dq) > 0.1);
    CHECK(off(b, b.q, dq) < 1e-8);
    CHECK(off(b, b.k, dk) < 1e-8);
    if (b.weighted) CHECK(off(b, b.w, dw) < 1e-8);
  }
}

namespace {

/// Checks that an indexer that selects all keys gives the logits of a model without an indexer, and that selecting a
/// single key changes them.
void check_choice_of_all(const Arch& arch, Indexer& (*indexer)(Arch&)) {
  test::Variant sparse{"all keys", arch, test::tiny_plan()};
  indexer(sparse.arch).top_k = sparse.plan.seq;
  test::Variant dense = sparse;
  indexer(dense.arch) = {};
  test::Run a(sparse, Number::f64), b(dense, Number::f64);
  for (Parameter& p : b.t.weights().all())
    for (Parameter& same : a.t.weights().all())
      if (same.shape.name == p.shape.name) b.t.weights().set(p, a.t.weights().get(same.value, same.elements(), false));
  const std::vector<std::int64_t> ids = test::tiny_batch(sparse.arch, sparse.plan, 3).ids;
  CHECK(test::difference(a.t.all_logits(ids, 2), b.t.all_logits(ids, 2)) < 1e-12);
  test::Variant few = sparse;
  indexer(few.arch).top_k = 1;
  CHECK(test::difference(test::Run(few, Number::f64).t.all_logits(ids, 2), a.t.all_logits(ids, 2)) > 1e-3);
}

}  // namespace

TEST_CASE("an indexer that selects all keys or all pooled keys gives the logits of a model without one", "[indexer]") {
  check_choice_of_all(test::tiny_sparse(2), [](Arch& a) -> Indexer& { return a.indexer; });
  check_choice_of_all(test::tiny_pooled_choice(),
                      [](Arch& a) -> Indexer& { return a.mixers[a.mixers.size() - 1].indexer; });
}

TEST_CASE("the language-model loss trains no indexer weights", "[indexer]") {
  const test::Variant v{"sparse", test::with_shared_choice(test::tiny_sparse(2)), test::tiny_plan()};
  test::Run r(v, Number::f64);
  r.make_trainable();
  r.t.gradients(test::tiny_batch(v.arch, v.plan, 5), 1, nullptr);
  int indexers = 0;
  for (Parameter& p : r.t.weights().all()) {
    const bool is_index = p.shape.name.find(".index_") != std::string::npos;
    indexers += is_index;
    INFO(p.shape.name);
    CHECK((test::norm(r.t.weights().get(p.gradient, p.elements(), true)) == 0) == is_index);
  }
  CHECK(indexers == 5);  // only in the first layer: queries, key, two vectors of its norm, weights
}

TEST_CASE("the GPU backend rejects attention with an indexer", "[indexer]") {
  const Arch arch = test::tiny_sparse(1);
  for (const test::MakeBackend make : test::gpus()) {
    const std::unique_ptr<Backend> gpu = make(Number::f32, true);
    CHECK_THROWS_WITH(Transformer(arch, *gpu, {.plan = test::tiny_plan()}, 1),
                      "the CUDA kernels do not support attention to keys selected by an indexer, which this model's "
                      "layers use; use --device cpu");
  }
}
