#include "validate/probe.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "calc/cost/cost.hpp"
#include "learn/learner.hpp"
#include "model/random.hpp"
#include "model/transformer.hpp"
#include "validate/measure.hpp"

namespace llmcalc::validate {
namespace {

using Wall = std::chrono::steady_clock;

/// Median over repeated runs: at least three, and more while they fit in a tenth of a second.
template <typename F>
double median_seconds(const F& f) {
  f();
  std::vector<double> all;
  for (double spent = 0; all.size() < 3 || (spent < 0.1 && all.size() < 1000);) {
    const auto start = Wall::now();
    f();
    all.push_back(std::chrono::duration<double>(Wall::now() - start).count());
    spent += all.back();
  }
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

/// Seconds per call of f(), which must write only to existing buffers. On backends with CUDA graphs, many calls are
/// captured in one graph to make launch overhead negligible.
template <typename F>
double busy_seconds(model::Backend& b, const F& f) {
  constexpr double enough = 2e-3;
  std::unique_ptr<model::Recording> one, many;
  const auto alone = [&] {
    b.replay(one, {}, f);
    b.wait();
  };
  alone();
  const double once = median_seconds(alone);
  if (one == nullptr) return once;
  const int times = static_cast<int>(std::clamp(enough / once, 1.0, 64.0));
  const auto together = [&] {
    for (int i = 0; i < times; ++i) f();
  };
  const auto finished = [&] {
    b.replay(many, {}, together);
    b.wait();
  };
  return median_seconds(finished) / times;
}

/// Random values from -range/2 to range/2 in a backend's memory. Values beyond the first four million repeat these.
class Numbers {
 public:
  Numbers(model::Backend& b, Count n, std::uint64_t stream, double range = 1)
      : backend_(b), bytes_(b.wide() * n), data_(b.allocate(bytes_)) {
    constexpr Count drawn = Count{1} << 22;
    std::vector<double> values(static_cast<std::size_t>(std::min(n, drawn)));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = range * (model::uniform<float>(model::random_key(1), model::random_counter(i, stream)) - 0.5F);
    b.write(data_, values, false);
    for (Count there = drawn; there < n; there *= 2)
      b.copy(static_cast<std::byte*>(data_) + (there * b.number()).value, data_,
             b.number() * std::min(there, n - there));
  }
  ~Numbers() { backend_.release(data_, bytes_); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  void* data() const { return data_; }
  /// View of the values as (sequences, tokens, heads, width).
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
  a.layers = layers;
  a.hidden = a.embedding_width = a.mlp_width = a.head_dim = 16;
  a.heads = a.kv_heads = 1;
  return a;
}
Plan narrow_plan() {
  Plan p;
  p.seq = 4;
  p.weight_precision = p.precision = dtypes::fp32;
  return p;
}

/// A model whose operators have almost no work.
struct NarrowModel {
  model::Transformer t;
  model::Batch batch = random_batch(t.arch(), 4, 1);
  NarrowModel(model::Backend& b, Count layers) : t(narrow_arch(layers), b, {.plan = narrow_plan()}, 1) {
    t.weights().make_trainable(narrow_plan());
  }
  /// The number of operators in a forward pass.
  double operators() {
    model::Trace forward;
    t.loss(batch, &forward);
    return static_cast<double>(forward.size());
  }
  double step_seconds() {
    return median_seconds([&] { t.train(std::span(&batch, 1), {.clip = 0}); });
  }
  /// Seconds to generate the fifth token.
  double token_seconds() {
    model::Cache cache = t.make_cache(1, 8);
    t.logits(batch.ids, 1, 0, &cache);
    return median_seconds([&] { t.logits(std::span(batch.ids).first(1), 1, 4, &cache); });
  }
};

}  // namespace

Seconds matmul_seconds(model::Backend& b, const MatmulSize& s) {
  const Numbers x(b, s.rows * s.in, 1), w(b, s.out * s.in, 2), y(b, s.rows * s.out, 3);
  const Linear shape{.rows = s.rows, .in = s.in, .out = s.out};
  return Seconds(busy_seconds(b, [&] { b.linear(shape, {.x = x.data(), .weight = w.data()}, y.data()); }));
}

Seconds layers_seconds(model::Backend& b, Count rows, Count width, Count layers) {
  const Numbers x(b, (layers + 1) * rows * width, 1), dy(b, rows * width, 2), dx(b, rows * width, 3);
  const Numbers w(b, layers * width * width, 4, 2 * std::sqrt(3.0 / static_cast<double>(width)));
  const Numbers dw(b, layers * width * width, 5);
  const Linear shape{.rows = rows, .in = width, .out = width};
  const auto part = [](const Numbers& n, Count i, Bytes each) {
    return static_cast<std::byte*>(n.data()) + (i * each).value;
  };
  const Bytes a = rows * width * b.number(), weight = width * width * b.number(), gradient = width * width * b.wide();
  return Seconds(busy_seconds(b, [&] {
    for (Count i = 0; i < layers; ++i)
      b.linear(shape, {.x = part(x, i, a), .weight = part(w, i, weight)}, part(x, i + 1, a));
    for (Count i = layers; i-- > 0;) {
      const model::LinearView v{.x = part(x, i, a), .weight = part(w, i, weight), .add_weight_gradient = false};
      const bool even = i % 2 == 0;
      b.linear_gradient(shape, v, even ? dy.data() : dx.data(), even ? dx.data() : dy.data(), false,
                        part(dw, i, gradient), nullptr);
    }
  }));
}

BytesPerSecond copy_bandwidth(model::Backend& b, Bytes bytes) {
  const Numbers from(b, bytes.value / b.wide().value, 1), to(b, bytes.value / b.wide().value, 2);
  const double seconds = busy_seconds(b, [&] { b.copy(to.data(), from.data(), bytes); });
  return BytesPerSecond(2 * static_cast<double>(bytes.value) / seconds);
}

namespace {

/// Tensors of an attention core with 12 heads of width 64.
struct ProbedCore {
  static constexpr Count heads = 12, width = 64;
  model::Backend& b;
  AttentionImpl how;
  Count tokens;
  double scale = 0.125;
  Attention shape;
  Numbers q, k, v, o, d_o, lse, dq, dk, dv, probabilities, scratch;

  ProbedCore(model::Backend& backend, AttentionImpl impl, Count sequences, Count length)
      : ProbedCore(backend, impl, sequences, length, sequences * length * heads) {}
  ProbedCore(model::Backend& backend, AttentionImpl impl, Count sequences, Count length, Count rows)
      : b(backend),
        how(impl),
        tokens(length),
        shape{.sequences = sequences,
              .heads = heads,
              .kv_heads = heads,
              .queries = length,
              .keys = length,
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
    return {.q = heads_of(q), .q_rope = {}, .k = heads_of(k), .k_rope = {}, .v = heads_of(v), .scale = scale};
  }
  model::AttentionSaved saved() const {
    if (how == AttentionImpl::naive) return {.probabilities = probabilities.data()};
    return {.log_sum_exp = lse.data()};
  }
  void forward() { b.attention(shape, in(), how, {}, saved(), o.data()); }
  void backward() {
    b.attention_gradient(shape, in(), how, {}, saved(), o.data(), d_o.data(), scratch.data(),
                         {.q = heads_of(dq), .q_rope = {}, .k = heads_of(dk), .k_rope = {}, .v = heads_of(dv)});
  }
};

FlopsPerSecond rate(const Cost& c, double seconds) {
  return FlopsPerSecond(static_cast<double>(c.executed.value) / seconds);
}

}  // namespace

namespace {
CoreRates rates_of(ProbedCore& core) {
  Plan plan;
  plan.attention = core.how;
  const Pricing p = pricing(plan, Phase::training);
  const Shape shape(core.shape);
  const double ahead = busy_seconds(core.b, [&] { core.forward(); });
  const double back = busy_seconds(core.b, [&] { core.backward(); });
  return {rate(forward(shape, p), ahead), rate(backward(shape, p), back)};
}
}  // namespace

CoreRates core_rates(model::Backend& b, AttentionImpl how, Count sequences, Count tokens) {
  ProbedCore core(b, how, sequences, tokens);
  return rates_of(core);
}

CoreRates plain_core_rates(model::Backend& b, Count sequences, Count tokens) {
  ProbedCore core(b, AttentionImpl::flash, sequences, tokens);
  core.scale = -core.scale;  // rejected by tensor-core kernels, and equally fast in other kernels
  core.forward();
  const std::optional<model::CoreRun> ran = b.attention_cores().forward;
  return ran && ran->obstacle == model::CoreObstacle::scale ? rates_of(core) : CoreRates();
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

Seconds forward_operator_seconds(model::Backend& b) {
  NarrowModel m(b, 4);
  return Seconds(median_seconds([&] { m.t.loss(m.batch); }) / m.operators());
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
  product();  // selects the algorithm
  model::Instruments& device = *b.instruments();
  device.start_counting();
  device.begin("product");
  product();
  device.end();
  return device.stop_counting().at(0).tensor_flops / s.flops();
}

}  // namespace llmcalc::validate
