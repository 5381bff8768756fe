// The graphs that cuDNN is given, computed in double operation by operation: they are attention and its gradient. The
// library is not needed, only its headers.

#ifdef LLMCALC_CUDNN

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "model/cpu/make.hpp"
#include "model/cuda/cudnn/sdpa_graph.hpp"
#include "model/random.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using namespace llmcalc::model::cuda;
using cudnn::Sizes;
using test::Numbers;

namespace {

/// Computes an operation when it is written down.
class Computed {
 public:
  struct Tensor {
    double* data = nullptr;
    Sizes size{}, stride{};
    double& at(const Sizes& i) const {  // an axis of size 1 is the same everywhere
      std::int64_t place = 0;
      for (std::size_t a = 0; a < 4; ++a) place += size[a] == 1 ? 0 : i[a] * stride[a];
      return data[place];
    }
  };

  void give(std::int64_t id, double* data) { given_[id] = data; }

  Tensor tensor(std::int64_t id, const Sizes& size, const Sizes& stride, cudnnDataType_t) {
    return {given_.at(id), size, stride};
  }
  Tensor scalar(std::int64_t id) { return {given_.at(id), {1, 1, 1, 1}, {1, 1, 1, 1}}; }
  Tensor passing(const Sizes& size, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return passing(size, cudnn::packed(size), type);
  }
  Tensor passing(const Sizes& size, const Sizes& stride, cudnnDataType_t) {
    std::int64_t last = 0;
    for (std::size_t a = 0; a < 4; ++a) last += (size[a] - 1) * stride[a];
    own_.emplace_back(static_cast<std::size_t>(last) + 1);
    return {own_.back().data(), size, stride};
  }

  /// Heads of b are shared where it has fewer.
  Tensor matmul(const Tensor& a, const Tensor& b, const Tensor& to) {
    REQUIRE(a.size[3] == b.size[2]);
    each(to.size, [&](const Sizes& i) {
      double sum = 0;
      const std::int64_t shared = i[1] / (to.size[1] / b.size[1]);
      for (std::int64_t k = 0; k < a.size[3]; ++k) sum += a.at({i[0], i[1], i[2], k}) * b.at({i[0], shared, k, i[3]});
      to.at(i) = sum;
    });
    return to;
  }
  Tensor pointwise(cudnnPointwiseMode_t mode, std::initializer_list<Tensor> in, const Tensor& to) {
    each(to.size, [&](const Sizes& i) {
      const double x = in.begin()->at(i), y = in.size() > 1 ? in.begin()[1].at(i) : 0;
      to.at(i) = in.size() > 2 ? (in.begin()[2].at(i) != 0 ? x : y) : of(mode, x, y);
    });
    return to;
  }
  Tensor index(const Tensor& x, std::size_t axis) {
    const Tensor to = passing(x.size);
    each(to.size, [&](const Sizes& i) { to.at(i) = static_cast<double>(i[axis]); });
    return to;
  }
  Tensor reduce(cudnnReduceTensorOp_t how, const Tensor& x, const Tensor& to) {
    const bool adds = how == CUDNN_REDUCE_TENSOR_ADD;
    const auto place = [&](const Sizes& i) { return Sizes{i[0], i[1] / (x.size[1] / to.size[1]), i[2], i[3]}; };
    each(to.size, [&](const Sizes& i) { to.at(i) = adds ? 0 : -std::numeric_limits<double>::infinity(); });
    each(x.size, [&](const Sizes& i) {
      double& sum = to.at(place(i));
      sum = adds ? sum + x.at(i) : std::max(sum, x.at(i));
    });
    return to;
  }
  Tensor reshape(const Tensor& x, const Tensor& to) { return {x.data, to.size, to.stride}; }

 private:
  template <typename F>
  static void each(const Sizes& size, const F& f) {
    for (Sizes i{}; i[0] < size[0]; ++i[0])
      for (i[1] = 0; i[1] < size[1]; ++i[1])
        for (i[2] = 0; i[2] < size[2]; ++i[2])
          for (i[3] = 0; i[3] < size[3]; ++i[3]) f(i);
  }
  static double of(cudnnPointwiseMode_t mode, double x, double y) {
    switch (mode) {
      case CUDNN_POINTWISE_ADD:
        return x + y;
      case CUDNN_POINTWISE_SUB:
        return x - y;
      case CUDNN_POINTWISE_MUL:
        return x * y;
      case CUDNN_POINTWISE_DIV:
        return x / y;
      case CUDNN_POINTWISE_EXP:
        return std::exp(x);
      case CUDNN_POINTWISE_LOG:
        return std::log(x);
      case CUDNN_POINTWISE_IDENTITY:
        return x;
      case CUDNN_POINTWISE_CMP_GE:
        return x >= y ? 1 : 0;
      default:
        throw std::logic_error("an operation that attention does not have");
    }
  }

  std::map<std::int64_t, double*> given_;
  std::vector<Numbers> own_;
};

Numbers random(Count n, std::uint64_t stream) {
  Numbers x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 2 * uniform<double>(random_key(3), random_counter(i, stream)) - 1;
  return x;
}

/// (heads, tokens) to (tokens, heads) of every sequence.
Numbers turned(const Numbers& x, const SdpaShape& s) {
  Numbers y(x.size());
  for (Count b = 0; b < s.sequences; ++b)
    for (Count h = 0; h < s.heads; ++h)
      for (Count t = 0; t < s.tokens; ++t)
        y[static_cast<std::size_t>((b * s.tokens + t) * s.heads + h)] =
            x[static_cast<std::size_t>((b * s.heads + h) * s.tokens + t)];
  return y;
}

/// 2 sequences of 4 heads; a token's queries, keys and values follow each other in memory.
void check_graphs(Count kv_heads, Count tokens, Count qk_dim, Count v_dim, bool deterministic) {
  constexpr Count sequences = 2, heads = 4;
  const Count keys = heads * qk_dim, values = keys + kv_heads * qk_dim, token = values + kv_heads * v_dim;
  Numbers qkv = random(sequences * tokens * token, 1), d_o = random(sequences * tokens * heads * v_dim, 2);
  Numbers o(d_o.size()), exact_o(d_o.size()), gradients(qkv.size()), exact(qkv.size());
  Numbers statistics(static_cast<std::size_t>(sequences * heads * tokens)), delta(statistics.size());
  Numbers log_sum_exp(statistics.size()), dq_sum(static_cast<std::size_t>(sequences * heads * tokens * qk_dim));
  const auto view = [&](Numbers& all, Count at, Count width) {
    return HeadView{.data = all.data() + at, .sequence = tokens * token, .token = token, .head = width};
  };
  const Attention s{.sequences = sequences,
                    .heads = heads,
                    .kv_heads = kv_heads,
                    .queries = tokens,
                    .keys = tokens,
                    .qk_dim = qk_dim,
                    .v_dim = v_dim};
  AttentionInputs in;
  in.q = view(qkv, 0, qk_dim);
  in.k = view(qkv, keys, qk_dim);
  in.v = view(qkv, values, v_dim);
  in.scale = 0.5;
  AttentionGradients to, exact_to;
  to.q = view(gradients, 0, qk_dim);
  to.k = view(gradients, keys, qk_dim);
  to.v = view(gradients, values, v_dim);
  exact_to.q = view(exact, 0, qk_dim);
  exact_to.k = view(exact, keys, qk_dim);
  exact_to.v = view(exact, values, v_dim);

  const std::unique_ptr<Backend> cpu = make_cpu(Number::f64);
  const AttentionKept kept{.log_sum_exp = log_sum_exp.data()};
  cpu->attention(s, in, AttentionImpl::flash, {}, kept, exact_o.data());
  cpu->attention_gradient(s, in, AttentionImpl::flash, {}, kept, exact_o.data(), d_o.data(), nullptr, exact_to);

  double scale = 0.5, masked = -std::numeric_limits<double>::infinity(), one = 1;
  Computed g;
  const auto data = [](const HeadView& v) { return static_cast<double*>(const_cast<void*>(v.data)); };
  g.give(cudnn::q_id, data(in.q));
  g.give(cudnn::k_id, data(in.k));
  g.give(cudnn::v_id, data(in.v));
  g.give(cudnn::o_id, o.data());
  g.give(cudnn::statistics_id, statistics.data());
  g.give(cudnn::scale_id, &scale);
  g.give(cudnn::masked_id, &masked);
  g.give(cudnn::one_id, &one);
  g.give(cudnn::d_o_id, d_o.data());
  g.give(cudnn::delta_id, delta.data());
  g.give(cudnn::dq_id, data(to.q));
  g.give(cudnn::dk_id, data(to.k));
  g.give(cudnn::dv_id, data(to.v));
  if (!deterministic) g.give(cudnn::dq_sum_id, dq_sum.data());
  const Sdpa forward = sdpa_forward(s, in, nullptr, o.data());
  cudnn::SdpaGraph(g, forward.shape).write();
  CHECK(test::difference(o, exact_o) <= 1e-12);
  CHECK(test::difference(turned(statistics, forward.shape), log_sum_exp) <= 1e-12);
  Sdpa backward = sdpa_backward(s, in, nullptr, o.data(), d_o.data(), to);
  backward.shape.deterministic = deterministic;
  cudnn::SdpaGraph(g, backward.shape).write();
  CHECK(test::difference(gradients, exact) <= 1e-12);
}

}  // namespace

TEST_CASE("the graphs that cuDNN is given are attention and its gradient", "[sdpa]") {
  for (const bool deterministic : {false, true})
    for (const Count kv_heads : {4, 2, 1}) {
      INFO(kv_heads << " KV heads, deterministic " << deterministic);
      check_graphs(kv_heads, 13, 8, 8, deterministic);
      check_graphs(kv_heads, 6, 16, 24, deterministic);
    }
}

#endif
