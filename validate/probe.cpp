#include "validate/probe.hpp"

#include <algorithm>
#include <chrono>
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

/// Of one f(), which leaves nothing but numbers in memory that was there before it. Where a backend runs from
/// recordings: among so many in one that asking and waiting for them is nothing beside them.
template <typename F>
double busy_seconds(model::Backend& b, const F& f) {
  constexpr double enough = 2e-3;
  std::unique_ptr<model::Recording> one, many;
  const auto alone = [&] { b.replay(one, {}, f), b.wait(); };
  alone();
  const double once = median_seconds(alone);
  if (one == nullptr) return once;
  const int times = static_cast<int>(std::clamp(enough / once, 1.0, 64.0));
  const auto together = [&] {
    for (int i = 0; i < times; ++i) f();
  };
  return median_seconds([&] { b.replay(many, {}, together), b.wait(); }) / times;
}

/// Random numbers in a backend's memory, the first four million again and again.
class Numbers {
 public:
  Numbers(model::Backend& b, Count n, std::uint64_t stream)
      : backend_(b), bytes_(b.wide() * n), data_(b.allocate(bytes_)) {
    constexpr Count drawn = Count{1} << 22;
    std::vector<double> values(static_cast<std::size_t>(std::min(n, drawn)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = model::uniform<float>(model::random_key(1), model::random_counter(i, stream)) - 0.5F;
    b.write(data_, values, false);
    for (Count there = drawn; there < n; there *= 2)
      b.copy(static_cast<std::byte*>(data_) + (there * b.number()).value, data_,
             b.number() * std::min(there, n - there));
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

Arch narrow_arch(Count layers) {
  Arch a = model::small_arch(16, 8);
  a.layers = layers, a.hidden = a.embedding_width = a.mlp_width = a.head_dim = 16, a.heads = a.kv_heads = 1;
  return a;
}
Plan narrow_plan() {
  Plan p;
  p.seq = 4, p.precision = p.weight_precision = dtypes::fp32;
  return p;
}

/// A model whose operators have next to nothing to do.
struct NarrowModel {
  model::Transformer t;
  model::Batch batch = random_batch(t.arch(), 4, 1);
  NarrowModel(model::Backend& b, Count layers) : t(narrow_arch(layers), b, {.plan = narrow_plan()}, 1) {
    t.weights().make_trainable(narrow_plan());
  }
  /// Of a forward pass.
  double operators() {
    model::Trace forward;
    t.loss(batch, &forward);
    return static_cast<double>(forward.size());
  }
  double step_seconds() {
    return median_seconds([&] { t.train(std::span(&batch, 1), {.clip = 0}); });
  }
  /// Of the fifth token.
  double token_seconds() {
    model::Cache cache = t.make_cache(1, 8);
    t.logits(batch.ids, 1, 0, &cache);
    return median_seconds([&] { t.logits(std::span(batch.ids).first(1), 1, 4, &cache); });
  }
};

}  // namespace

Seconds matmul_seconds(model::Backend& b, const MatmulSize& s) { return streamed_matmul_seconds(b, s, 1); }

Seconds streamed_matmul_seconds(model::Backend& b, const MatmulSize& s, int weights) {
  const Numbers x(b, s.rows * s.in, 1), w(b, weights * s.out * s.in, 2), y(b, s.rows * s.out, 3);
  const Linear shape{.rows = s.rows, .in = s.in, .out = s.out};
  int next = 0;
  return Seconds(busy_seconds(b, [&] {
    const std::byte* one = static_cast<const std::byte*>(w.data()) + (s.out * s.in * next * b.number()).value;
    b.linear(shape, {.x = x.data(), .weight = one}, y.data());
    next = (next + 1) % weights;
  }));
}

BytesPerSecond copy_bandwidth(model::Backend& b, Bytes bytes) {
  const Numbers from(b, bytes.value / b.wide().value, 1), to(b, bytes.value / b.wide().value, 2);
  const double seconds = busy_seconds(b, [&] { b.copy(to.data(), from.data(), bytes); });
  return BytesPerSecond(2 * static_cast<double>(bytes.value) / seconds);
}

FlopsPerSecond attention_rate(model::Backend& b, Count sequences, Count tokens) {
  constexpr Count heads = 12, width = 64;
  const Attention shape{.sequences = sequences,
                        .heads = heads,
                        .kv_heads = heads,
                        .queries = tokens,
                        .past = 0,
                        .qk_dim = width,
                        .v_dim = width};
  const Count n = sequences * tokens * heads * width;
  const Numbers q(b, n, 1), k(b, n, 2), v(b, n, 3), o(b, n, 4), d_o(b, n, 5), lse(b, sequences * tokens * heads, 6);
  const Numbers dq(b, n, 7), dk(b, n, 8), dv(b, n, 9);
  const model::AttentionInputs in{.q = q.heads(tokens, heads, width),
                                  .q_rope = {},
                                  .k = k.heads(tokens, heads, width),
                                  .k_rope = {},
                                  .v = v.heads(tokens, heads, width),
                                  .scale = 0.125};
  const model::AttentionKept kept{.log_sum_exp = lse.data()};
  const model::AttentionGradients gradients{.q = dq.heads(tokens, heads, width),
                                            .q_rope = {},
                                            .k = dk.heads(tokens, heads, width),
                                            .k_rope = {},
                                            .v = dv.heads(tokens, heads, width)};
  const Pricing p{};
  const Flops done = forward(Shape(shape), p).executed + backward(Shape(shape), p).executed;
  const double seconds = busy_seconds(b, [&] {
    b.attention(shape, in, AttentionImpl::flash, {}, kept, o.data());
    b.attention_gradient(shape, in, AttentionImpl::flash, {}, kept, o.data(), d_o.data(), nullptr, gradients);
  });
  return FlopsPerSecond(static_cast<double>(done.value) / seconds);
}

double function_rate(model::Backend& b, Count rows) {
  constexpr Count layers = 12, width = 3072;
  const Pointwise shape{.kind = PointwiseKind::activate, .rows = rows, .width = width};
  const Numbers x(b, layers * rows * width, 1), y(b, layers * rows * width, 2), dx(b, rows * width, 3);
  const double seconds = busy_seconds(b, [&] {
    const auto of_layer = [&](const Numbers& n, Count i) {
      return static_cast<std::byte*>(n.data()) + (i * rows * width * b.number()).value;
    };
    for (Count i = 0; i < layers; ++i) b.activate(shape, Activation::gelu, of_layer(x, i), of_layer(y, i));
    for (Count i = layers; i-- > 0;)
      b.activate_gradient(shape, Activation::gelu, of_layer(x, i), of_layer(y, i), dx.data(), false);
  });
  return static_cast<double>(layers) * (functions(Shape(shape), false) + functions(Shape(shape), true)) / seconds;
}

BytesPerSecond addition_bandwidth(model::Backend& b, Bytes bytes, Seconds launch) {
  constexpr Count width = 1024;
  const Count rows = std::max<Count>(1, bytes.value / (3 * width * b.number().value));
  const Pointwise shape{.kind = PointwiseKind::add, .rows = rows, .width = width};
  const Numbers x(b, rows * width, 1), y(b, rows * width, 2), z(b, rows * width, 3);
  const double seconds = busy_seconds(b, [&] { b.add(shape, x.data(), y.data(), z.data()); }) - launch.value;
  return BytesPerSecond(3 * static_cast<double>((rows * width * b.number()).value) / seconds);
}

OperatorSeconds operator_seconds(model::Backend& b) {
  NarrowModel m(b, 4);
  const double operators = m.operators();
  const double pass = median_seconds([&] { m.t.loss(m.batch); });
  const double both = median_seconds([&] { m.t.gradients(m.batch, 1, nullptr); });
  return {Seconds(pass / operators), Seconds((both - pass) / operators)};
}

OperatorSeconds recorded_operator_seconds(model::Backend& b) {
  NarrowModel few(b, 4), more(b, 20);
  const double operators = more.operators() - few.operators();
  const double token = (more.token_seconds() - few.token_seconds()) / operators;
  const double step = (more.step_seconds() - few.step_seconds()) / operators;
  return {Seconds(token), Seconds(step - token)};
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
