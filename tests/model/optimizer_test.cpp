// Compares optimizer steps with arithmetic by hand.

#include "model/math/numbers.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::difference;
using test::identical;
using test::Numbers;
using test::Run;
using test::Variant;

namespace {

/// Values in a backend's memory, in its weight format or its wide format.
class Row {
 public:
  Row(Backend& b, const Numbers& values, bool wide)
      : b_(b),
        bytes_((wide ? b.wide() : b.number()) * static_cast<Count>(values.size())),
        wide_(wide),
        values_(values) {
    data_ = b_.allocate(bytes_);
    b_.write(data_, values_, wide_);
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row() { b_.release(data_, bytes_); }
  void* data() const { return data_; }
  void set(const Numbers& values) { b_.write(data_, values, wide_); }
  Numbers get() const {
    Numbers v(values_.size());
    b_.read(v, data_, wide_);
    return v;
  }

 private:
  Backend& b_;
  Bytes bytes_;
  bool wide_;
  Numbers values_;
  void* data_;
};

/// Weights updated by AdamW, with moments that start at zero.
struct Adam {
  std::unique_ptr<Backend> cpu;
  Count n;
  Row w, g, m, v;
  OptimizerStep o;
  Adam(Number number, const Numbers& start, const OptimizerStep& settings)
      : cpu(make_cpu(number)),
        n(static_cast<Count>(start.size())),
        w(*cpu, start, false),
        g(*cpu, start, true),
        m(*cpu, Numbers(start.size(), 0.0), true),
        v(*cpu, Numbers(start.size(), 0.0), true),
        o(settings) {
    o.step = 0;
  }
  Numbers step(const Numbers& gradient, void* master = nullptr) {
    g.set(gradient);
    ++o.step;
    const ParameterUpdate p{n, g.data(), w.data(), master, m.data(), v.data()};
    cpu->update({&p, 1}, o);
    return w.get();
  }
};

/// A model's weights, split into matrices and vectors.
struct RunParts {
  Numbers matrices, vectors;
  explicit RunParts(Transformer& t) {
    for (const Parameter& p : t.weights().all()) {
      const Numbers w = t.weights().get(p.value, p.elements(), false);
      Numbers& to =
          p.shape.name.ends_with(".weight") && p.shape.name.find("norm") == std::string::npos ? matrices : vectors;
      to.insert(to.end(), w.begin(), w.end());
    }
  }
};

Variant small(Optimizer optimizer) {
  Variant v{"", test::tiny_gpt(), test::tiny_plan()};
  v.plan.optimizer = optimizer;
  return v;
}

double gradient_norm(Transformer& t) { return test::norm(test::gradients(t)); }

}  // namespace

TEST_CASE("the first AdamW step moves every weight by the learning rate, for any gradient size", "[optimizer]") {
  // m = (1 - b1) g and v = (1 - b2) g^2. Corrected: g and g^2. The step is rate g / (|g| + epsilon).
  const OptimizerStep o{.rate = 0.5, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
  Adam a(Number::f64, {1, 1, 1, 1}, o);
  const Numbers after = a.step({1000, -1e-3, 0, 1e-8});
  CHECK(difference(after, Numbers{1 - 0.5 / (1 + 1e-11), 1 + 0.5 / (1 + 1e-5), 1, 0.75}) < 1e-14);
  CHECK(difference(a.m.get(), Numbers{100, -1e-4, 0, 1e-9}) < 1e-15);
  CHECK(difference(a.v.get(), Numbers{50000, 5e-8, 0, 5e-18}) < 1e-15);
}

TEST_CASE("with a constant gradient, bias correction makes all AdamW steps equally large", "[optimizer]") {
  Adam a(Number::f64, {1, -2}, {.rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 0});
  Numbers after;
  for (int i = 1; i <= 20; ++i) {
    after = a.step({3, -0.2});
    CHECK(difference(after, Numbers{1 - 0.01 * i, -2 + 0.01 * i}) < 1e-12);
  }
}

TEST_CASE("the second AdamW step matches a hand calculation", "[optimizer]") {
  // g = 1, then -3; b1 = 0.9, b2 = 0.5. m: 0.1, then 0.09 - 0.3 = -0.21; corrected by 1/(1 - 0.81): -0.21/0.19. v: 0.5,
  // then 0.25 + 4.5 = 4.75; corrected by 1/(1 - 0.25): 19/3. epsilon is added after the root.
  Adam a(Number::f64, {2}, {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.5, .epsilon = 0.25});
  const double first = 2 - 0.1 / 1.25, second = first + 0.1 * (0.21 / 0.19) / (std::sqrt(19.0 / 3) + 0.25);
  CHECK(difference(a.step({1}), Numbers{first}) < 1e-14);
  CHECK(difference(a.step({-3}), Numbers{second}) < 1e-14);
}

TEST_CASE("AdamW decays a weight by rate x decay, independently of its gradient", "[optimizer]") {
  Adam a(Number::f64, {8, 8}, {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 0, .decay = 0.5});
  CHECK(difference(a.step({0, 2}), Numbers{NAN, 7.5}) != 0);  // 0/0 without epsilon is NaN
  Adam b(Number::f64, {8, 8}, {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-30, .decay = 0.5});
  CHECK(difference(b.step({0, 2}), Numbers{7.6, 7.5}) < 1e-14);
  CHECK(difference(b.m.get(), Numbers{0, 0.2}) < 1e-14);  // moments exclude decay
}

TEST_CASE("ten AdamW steps in float32 stay close to double precision", "[optimizer]") {
  const OptimizerStep o{.rate = 0.01, .decay = 0.1};
  Adam a(Number::f32, {1, -0.5, 3}, o), b(Number::f64, {1, -0.5, 3}, o);
  for (int i = 0; i < 10; ++i) {
    const Numbers g{std::sin(i), 1e-3 * std::cos(i), 100.0 * i};
    CHECK(difference(a.step(g), b.step(g)) < 1e-6);
  }
}

TEST_CASE("AdamW steps below bf16 resolution accumulate in master weights and are lost without them", "[optimizer]") {
  // bf16 has 8 bits: values just below 1 are 2^-8 apart. 40 steps of 2^-12 are 2.5 such gaps.
  const OptimizerStep o{.rate = 0x1p-12, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 0};
  Adam with(Number::bf16, {1, -1}, o), without(Number::bf16, {1, -1}, o);
  const Row master(*with.cpu, {1, -1}, true);
  for (int i = 0; i < 40; ++i) {
    with.step({1, -1}, master.data());
    without.step({1, -1});
  }
  CHECK(difference(master.get(), Numbers{1 - 40 * 0x1p-12, -1 + 40 * 0x1p-12}) < 1e-6);
  CHECK(with.w.get() == Numbers{1 - 2 * 0x1p-8, -1 + 2 * 0x1p-8});  // 2.5, rounded to even
  CHECK(without.w.get() == Numbers{1, -1});
}

TEST_CASE("a bf16 model keeps and updates master weights if the plan has them", "[optimizer]") {
  for (const bool master : {true, false}) {
    Variant v = small(Optimizer::adam);
    v.plan.master = master;
    Run r(v, Number::bf16);
    r.make_trainable();
    const Numbers before = test::weights(r.t);
    const std::vector<Batch> batch{test::tiny_batch(v.arch, v.plan, 5)};
    for (int i = 0; i < 64; ++i) r.t.train(batch, {.rate = 1e-5, .decay = 0, .clip = 0});
    for (const Parameter& p : r.t.weights().all()) {
      REQUIRE((p.master != nullptr) == master);
      if (!master) continue;
      // The computing weights are the rounded master weights.
      const Numbers wide = r.t.weights().get(p.master, p.elements(), true),
                    saved = r.t.weights().get(p.value, p.elements(), false);
      for (std::size_t i = 0; i < wide.size(); ++i)
        CHECK(saved[i] == static_cast<double>(static_cast<float>(bf16(static_cast<float>(wide[i])))));
    }
    std::size_t moved = 0;
    const Numbers after = test::weights(r.t);
    for (std::size_t i = 0; i < before.size(); ++i) moved += std::abs(before[i]) > 0.01 && after[i] != before[i];
    INFO("master " << master << ", moved " << moved << " of " << before.size());
    CHECK((moved > before.size() / 10) == master);
  }
}

TEST_CASE("weight decay applies to matrices, not to norms and biases", "[optimizer]") {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::momentum, Optimizer::sgd}) {
    Arch experts = test::tiny_deepseek();
    experts.moe.router_bias = experts.moe.expert_bias = experts.qkv_bias = true;
    for (const Arch& arch : {test::tiny_gpt(), experts}) {
      Variant v{"", arch, test::tiny_plan()};
      v.plan.optimizer = optimizer;
      Run r(v, Number::f64);
      r.make_trainable();
      const RunParts before(r.t);
      r.t.weights().zero_gradients();
      r.t.update({.rate = 0.5, .decay = 0.25});
      const RunParts after(r.t);
      Numbers shrunk = before.matrices;
      for (double& x : shrunk) x *= 1 - 0.5 * 0.25;
      CHECK(difference(after.matrices, shrunk) < 1e-15);
      CHECK(identical(after.vectors, before.vectors));
    }
  }
}

TEST_CASE("gradient descent with and without momentum matches a hand calculation", "[optimizer]") {
  const auto cpu = make_cpu(Number::f64);
  const Row w(*cpu, {10, 10}, false), velocity(*cpu, {0, 0}, true);
  Row g(*cpu, {2, -4}, true);
  const OptimizerStep o{.optimizer = Optimizer::momentum, .rate = 0.5, .decay = 0.25, .momentum = 0.75};
  ParameterUpdate p{.n = 2, .gradient = g.data(), .weight = w.data(), .first = velocity.data()};
  // w (1 - 0.125) - 0.5 velocity; velocity: (2, -4), then 0.75 (2, -4) + (1, 1) = (2.5, -2).
  cpu->update({&p, 1}, o);
  CHECK(w.get() == Numbers{7.75, 10.75});
  g.set({1, 1});
  cpu->update({&p, 1}, o);
  CHECK(velocity.get() == Numbers{2.5, -2});
  CHECK(w.get() == Numbers{5.53125, 10.40625});
  p.first = nullptr;
  cpu->update({&p, 1}, o);  // without velocity: w (1 - 0.125) - 0.5 (1, 1)
  CHECK(w.get() == Numbers{4.33984375, 8.60546875});
}

TEST_CASE("gradient descent steps below bf16 resolution accumulate in master weights", "[optimizer]") {
  for (const bool moving : {false, true}) {
    const auto cpu = make_cpu(Number::bf16);
    const Row w(*cpu, {1}, false), master(*cpu, {1}, true), velocity(*cpu, {0}, true), g(*cpu, {1}, true);
    const ParameterUpdate p{1, g.data(), w.data(), master.data(), moving ? velocity.data() : nullptr};
    for (int i = 0; i < 64; ++i)
      cpu->update({&p, 1}, {.optimizer = Optimizer::momentum, .rate = 0x1p-12, .momentum = 0});
    CHECK(master.get() == Numbers{1 - 0x1p-6});
    CHECK(w.get() == Numbers{1 - 0x1p-6});
  }
}

TEST_CASE("an update applies one AdamW step to every parameter and increments the step count", "[optimizer]") {
  const Variant v = small(Optimizer::adam);
  Run r(v, Number::f64);
  r.make_trainable();
  const Numbers start = test::weights(r.t);
  Adam alone(Number::f64, start, {.rate = 0.01, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-6});
  for (std::uint64_t i = 0; i < 3; ++i) {
    r.t.train(std::vector<Batch>{test::tiny_batch(v.arch, v.plan, i)},
              {.rate = 0.01, .beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-6, .decay = 0, .clip = 0});
    CHECK(difference(test::weights(r.t), alone.step(test::gradients(r.t))) < 1e-14);
  }
}

TEST_CASE("clipping shortens a long gradient to the limit and leaves a short one unchanged", "[optimizer]") {
  for (const test::Kind& f : test::kinds) {
    INFO(f.name);
    const Variant v = small(Optimizer::adam);
    Run r(v, f.number);
    r.make_trainable();
    const Batch batch = test::tiny_batch(v.arch, v.plan, 5);
    r.t.gradients(batch, 1, nullptr);
    const Numbers before = test::gradients(r.t);
    const double norm = gradient_norm(r.t);
    const double room = f.number == Number::f64 ? 1e-12 : 1e-6;
    CHECK(difference(Numbers{r.t.update({.rate = 0, .clip = 2 * norm})}, Numbers{norm}) < room);
    CHECK(identical(test::gradients(r.t), before));
    CHECK(difference(Numbers{r.t.update({.rate = 0, .clip = 0})}, Numbers{norm}) < room);  // 0: no limit
    CHECK(identical(test::gradients(r.t), before));
    CHECK(difference(Numbers{r.t.update({.rate = 0, .clip = norm / 8})}, Numbers{norm}) < room);  // before clipping
    CHECK(difference(Numbers{gradient_norm(r.t)}, Numbers{norm / 8}) < room);
    Numbers eighth = before;
    for (double& x : eighth) x /= 8;
    CHECK(difference(test::gradients(r.t), eighth) < room);  // in the same direction
  }
}

TEST_CASE("each optimizer allocates only the states it needs", "[optimizer]") {
  for (const auto& [optimizer, moments] :
       {std::pair{Optimizer::sgd, 0}, {Optimizer::momentum, 1}, {Optimizer::adam, 2}}) {
    Run r(small(optimizer), Number::f32);
    r.make_trainable();
    const Count n = r.t.weights().count();
    CHECK(r.t.arena().live(Purpose::optimizer) == Bytes(4 * moments * n));
    CHECK(r.t.arena().live(Purpose::gradients) == Bytes(4 * n));
  }
}

TEST_CASE("a NaN loss stops the step, leaves weights unchanged and frees activations", "[optimizer]") {
  Run r(small(Optimizer::adam), Number::f32);
  r.make_trainable();
  Parameter& p = r.t.weights().at(-1, "head.norm.bias");
  Numbers values = r.t.weights().get(p.value, p.elements(), false);
  values[0] = std::numeric_limits<double>::quiet_NaN();
  r.t.weights().set(p, values);
  Parameter& q = r.t.weights().at(0, "attn.q.weight");
  const Numbers before = r.t.weights().get(q.value, q.elements(), false);
  const std::vector<Batch> batch{test::tiny_batch(r.t.arch(), r.t.settings().plan, 5)};
  CHECK_THROWS_AS(r.t.train(batch, {}), NotANumber);
  CHECK(identical(r.t.weights().get(q.value, q.elements(), false), before));
  CHECK(r.t.arena().live(Purpose::activations) == Bytes());
}

TEST_CASE("a gradient that is not finite stops the update", "[optimizer]") {
  Run r(small(Optimizer::adam), Number::f32);
  r.make_trainable();
  Parameter& p = r.t.weights().at(0, "attn.q.weight");
  r.t.backend().write(p.gradient->data(), Numbers(1, std::numeric_limits<double>::infinity()), true);
  const Numbers before = test::weights(r.t);
  CHECK_THROWS_AS(r.t.update({}), NotANumber);
  CHECK(identical(test::weights(r.t), before));
}
