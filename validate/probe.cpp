#include "validate/probe.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "calc/cost.hpp"
#include "model/learner.hpp"
#include "model/random.hpp"
#include "model/transformer.hpp"
#include "validate/measure.hpp"

namespace llmcalc::validate {
namespace {

using Wall = std::chrono::steady_clock;

/// Median of the repeats: at least five, and as many as fit in a quarter of a second.
template <typename F>
double median_seconds(const F& f) {
  f();
  std::vector<double> all;
  for (double spent = 0; all.size() < 5 || (spent < 0.25 && all.size() < 1000);) {
    const auto start = Wall::now();
    f();
    all.push_back(std::chrono::duration<double>(Wall::now() - start).count());
    spent += all.back();
  }
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

/// Random numbers in a backend's memory, from -range/2 to range/2.
class Numbers {
 public:
  Numbers(model::Backend& b, Count n, std::uint64_t stream, double range = 1)
      : backend_(b), bytes_(b.wide() * n), data_(b.allocate(bytes_)) {
    std::vector<double> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = model::uniform<float>(model::random_key(1), model::random_counter(i, stream)) - 0.5F,
      values[i] *= range;
    b.write(data_, values, false);
  }
  ~Numbers() { backend_.release(data_, bytes_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  void* data() const { return data_; }
  /// (sequences, tokens, heads, width)
  model::HeadView heads(Count tokens, Count heads, Count width) const {
    return {data_, tokens * heads * width, heads * width, width, 0};
  }

 private:
  model::Backend& backend_;
  Bytes bytes_;
  void* data_;
};

}  // namespace

Seconds matmul_seconds(model::Backend& b, const MatmulSize& s) {
  const Numbers x(b, s.rows * s.in, 1), w(b, s.out * s.in, 2), y(b, s.rows * s.out, 3);
  const Linear shape{.rows = s.rows, .in = s.in, .out = s.out};
  return Seconds(median_seconds([&] {
    b.linear(shape, {.x = x.data(), .weight = w.data()}, y.data());
    b.wait();
  }));
}

Seconds layers_seconds(model::Backend& b, Count rows, Count width, Count layers) {
  const Numbers x(b, (layers + 1) * rows * width, 1), dy(b, rows * width, 2), dx(b, rows * width, 3);
  const Numbers w(b, layers * width * width, 4, 2 * std::sqrt(3.0 / static_cast<double>(width)));
  const Numbers dw(b, layers * width * width * b.wide().value / b.number().value, 5);
  const Linear shape{.rows = rows, .in = width, .out = width};
  const auto part = [](const Numbers& n, Count i, Bytes each) {
    return static_cast<std::byte*>(n.data()) + (i * each).value;
  };
  const Bytes a = rows * width * b.number(), weight = width * width * b.number(), gradient = width * width * b.wide();
  return Seconds(median_seconds([&] {
    for (Count i = 0; i < layers; ++i)
      b.linear(shape, {.x = part(x, i, a), .weight = part(w, i, weight)}, part(x, i + 1, a));
    for (Count i = layers; i-- > 0;) {
      const model::LinearView v{.x = part(x, i, a), .weight = part(w, i, weight), .add_weight_gradient = false};
      const bool even = i % 2 == 0;
      b.linear_gradient(shape, v, even ? dy.data() : dx.data(), even ? dx.data() : dy.data(), false,
                        part(dw, i, gradient), nullptr);
    }
    b.wait();
  }));
}

BytesPerSecond copy_bandwidth(model::Backend& b, Bytes bytes) {
  const Numbers from(b, bytes.value / b.wide().value, 1), to(b, bytes.value / b.wide().value, 2);
  const double seconds = median_seconds([&] { b.copy(to.data(), from.data(), bytes), b.wait(); });
  return BytesPerSecond(2 * static_cast<double>(bytes.value) / seconds);
}

namespace {

/// Attention's tensors: 12 heads of 64.
struct Core {
  static constexpr Count heads = 12, width = 64;
  model::Backend& b;
  AttentionImpl how;
  Count tokens;
  Attention shape;
  Numbers q, k, v, o, d_o, lse, dq, dk, dv, probabilities, scratch;

  Core(model::Backend& backend, AttentionImpl impl, Count sequences, Count length)
      : Core(backend, impl, sequences, length, sequences * length * heads) {}
  Core(model::Backend& backend, AttentionImpl impl, Count sequences, Count length, Count rows)
      : b(backend),
        how(impl),
        tokens(length),
        shape{.sequences = sequences,
              .heads = heads,
              .kv_heads = heads,
              .queries = length,
              .past = 0,
              .qk_dim = width,
              .v_dim = width},
        q(b, rows * width, 1),
        k(b, rows * width, 2),
        v(b, rows * width, 3),
        o(b, rows * width, 4),
        d_o(b, rows * width, 5),
        lse(b, rows, 6),
        dq(b, rows * width, 7),
        dk(b, rows * width, 8),
        dv(b, rows * width, 9),
        probabilities(b, scores(rows), 10),
        scratch(b, scores(rows), 11) {}

  Count scores(Count rows) const { return how == AttentionImpl::naive ? rows * tokens : 1; }
  model::HeadView heads_of(const Numbers& n) const { return n.heads(tokens, heads, width); }
  model::AttentionInputs in() const {
    return {.q = heads_of(q), .q_rope = {}, .k = heads_of(k), .k_rope = {}, .v = heads_of(v), .scale = 0.125};
  }
  model::AttentionKept kept() const {
    if (how == AttentionImpl::naive) return {.probabilities = probabilities.data()};
    return {.log_sum_exp = lse.data()};
  }
  void forward() { b.attention(shape, in(), how, {}, kept(), o.data()); }
  void backward() {
    b.attention_gradient(shape, in(), how, {}, kept(), o.data(), d_o.data(), scratch.data(),
                         {.q = heads_of(dq), .q_rope = {}, .k = heads_of(dk), .k_rope = {}, .v = heads_of(dv)});
  }
};

FlopsPerSecond rate(const Cost& c, double seconds) {
  return FlopsPerSecond(static_cast<double>(c.executed.value) / seconds);
}

}  // namespace

CoreRates core_rates(model::Backend& b, AttentionImpl how, Count sequences, Count tokens) {
  Core core(b, how, sequences, tokens);
  Plan plan;
  plan.attention = how;
  const Pricing p = pricing(plan, Phase::training);
  const Shape shape(core.shape);
  const double ahead = median_seconds([&] { core.forward(), b.wait(); });
  const double back = median_seconds([&] { core.backward(), b.wait(); });
  return {rate(forward(shape, p), ahead), rate(backward(shape, p), back)};
}

double function_rate(model::Backend& b, Count rows) {
  constexpr Count layers = 12, width = 3072;
  const Pointwise shape{.kind = PointwiseKind::activate, .rows = rows, .width = width};
  const Numbers x(b, layers * rows * width, 1), y(b, layers * rows * width, 2), dx(b, rows * width, 3);
  const double seconds = median_seconds([&] {
    const auto of_layer = [&](const Numbers& n, Count i) {
      return static_cast<std::byte*>(n.data()) + (i * rows * width * b.number()).value;
    };
    for (Count i = 0; i < layers; ++i) b.activate(shape, Activation::gelu, of_layer(x, i), of_layer(y, i));
    for (Count i = layers; i-- > 0;)
      b.activate_gradient(shape, Activation::gelu, of_layer(x, i), of_layer(y, i), dx.data(), false);
    b.wait();
  });
  return static_cast<double>(layers) * (functions(Shape(shape), false) + functions(Shape(shape), true)) / seconds;
}

BytesPerSecond addition_bandwidth(model::Backend& b, Bytes bytes) {
  constexpr Count width = 1024;
  const Count rows = std::max<Count>(1, bytes.value / (3 * width * b.number().value));
  const Pointwise shape{.kind = PointwiseKind::add, .rows = rows, .width = width};
  const Numbers x(b, rows * width, 1), y(b, rows * width, 2), z(b, rows * width, 3);
  const double seconds = median_seconds([&] {
    b.add(shape, x.data(), y.data(), z.data());
    b.wait();
  });
  return BytesPerSecond(3 * static_cast<double>((rows * width * b.number()).value) / seconds);
}

OperatorSeconds operator_seconds(model::Backend& b) {
  Arch a = model::small_arch(16, 4);
  a.hidden = a.embedding_width = a.mlp_width = a.head_dim = 16, a.heads = a.kv_heads = 1;
  Plan p;
  p.seq = 4, p.precision = p.weight_precision = dtypes::fp32;
  model::Transformer t(a, b, {.plan = p}, 1);
  t.weights().make_trainable(p);
  const model::Batch batch = random_batch(a, p.seq, 1);
  model::Trace forward;
  t.loss(batch, &forward);
  const double operators = static_cast<double>(forward.size());
  const double pass = median_seconds([&] { t.loss(batch); });
  const double both = median_seconds([&] { t.gradients(batch, 1, nullptr); });
  return {Seconds(pass / operators), Seconds((both - pass) / operators)};
}

double counted_share(model::Backend& b, const MatmulSize& s) {
  const Numbers x(b, s.rows * s.in, 1), w(b, s.out * s.in, 2), y(b, s.rows * s.out, 3);
  const Linear shape{.rows = s.rows, .in = s.in, .out = s.out};
  const auto product = [&] {
    b.linear(shape, {.x = x.data(), .weight = w.data()}, y.data());
    b.wait();
  };
  product();  // finds its algorithm
  model::Instruments& device = *b.instruments();
  device.start_counting();
  device.begin("product");
  product();
  device.end();
  return device.stop_counting().at(0).tensor_flops / s.flops();
}

}  // namespace llmcalc::validate
