// Compares Lion, Adafactor, Muon and 8-bit AdamW with plain computations from their papers.

#include "model/math/dynamic_codes.hpp"
#include "tests/catch.hpp"
#include "tests/model/compare.hpp"

using namespace llmcalc;
using namespace llmcalc::model;
using test::difference;
using test::Numbers;
using test::Run;
using test::Variant;

namespace {

Variant trained_by(const Arch& arch, Optimizer optimizer) {
  Variant v{"", arch, test::tiny_plan()};
  v.plan.optimizer = optimizer;
  return v;
}

/// Compares training with step(parameter, weights, gradient, step number), applied to a plain copy of every parameter.
template <typename Step>
void check_against(const Variant& v, const OptimizerSettings& o, double room, const Step& step) {
  Run r(v, Number::f64);
  r.make_trainable();
  std::vector<Numbers> plain;
  for (const Parameter& p : r.t.weights().all()) plain.push_back(r.t.weights().get(p.value, p.elements(), false));
  for (int i = 1; i <= 4; ++i) {
    r.t.train(std::vector<Batch>{test::tiny_batch(v.arch, v.plan, static_cast<std::uint64_t>(i))}, o);
    std::size_t at = 0;
    for (const Parameter& p : r.t.weights().all()) {
      INFO(p.shape.name << ", step " << i);
      step(p, plain[at], r.t.weights().get(p.gradient, p.elements(), true), i);
      CHECK(difference(r.t.weights().get(p.value, p.elements(), false), plain[at]) < room);
      ++at;
    }
  }
}

constexpr OptimizerSettings usual{.rate = 0.01, .beta1 = 0.9, .beta2 = 0.8, .decay = 0.1, .momentum = 0.75, .clip = 0};

double shrink(const Parameter& p) { return p.decays() ? 1 - usual.rate * usual.decay : 1; }

/// Values that persist from step to step, by parameter.
struct Saved {
  std::map<std::string, Numbers> of;
  Numbers& at(const std::string& name, std::size_t n) {
    Numbers& x = of[name];
    x.resize(n);
    return x;
  }
};

using Matrix = std::vector<Numbers>;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), Numbers(b[0].size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b[0].size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}
Matrix turned(const Matrix& a) {
  Matrix b(a[0].size(), Numbers(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j) b[j][i] = a[i][j];
  return b;
}
/// a x + b y
Matrix sum(double a, const Matrix& x, double b, const Matrix& y) {
  Matrix c = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x[0].size(); ++j) c[i][j] = a * x[i][j] + b * y[i][j];
  return c;
}

/// zeropower_via_newtonschulz5, line by line.
Matrix orthogonal(Matrix x) {
  const bool tall = x.size() > x[0].size();
  if (tall) x = turned(x);
  double square = 0;
  for (const Numbers& row : x)
    for (const double y : row) square += y * y;
  for (Numbers& row : x)
    for (double& y : row) y /= std::sqrt(square) + 1e-7;
  for (int i = 0; i < 5; ++i) {
    const Matrix a = product(x, turned(x)), b = sum(-4.7750, a, 2.0315, product(a, a));
    x = sum(3.4445, x, 1, product(b, x));
  }
  return tall ? turned(x) : x;
}

}  // namespace

TEST_CASE("Lion updates by the sign of its momentum, with decay", "[optimizer]") {
  Saved saved;
  check_against(trained_by(test::tiny_gpt(), Optimizer::lion), usual, 1e-14,
                [&](const Parameter& p, Numbers& w, const Numbers& g, int) {
                  Numbers& m = saved.at(p.shape.name, w.size());
                  for (std::size_t i = 0; i < w.size(); ++i) {
                    const double c = 0.9 * m[i] + (1 - 0.9) * g[i];
                    w[i] = w[i] * shrink(p) - 0.01 * ((c > 0) - (c < 0));
                    m[i] = 0.8 * m[i] + (1 - 0.8) * g[i];
                  }
                });
}

TEST_CASE("Adafactor divides gradients by factored second moments and clips the update", "[optimizer]") {
  for (const Arch& arch : {test::tiny_gpt(), test::tiny_deepseek()}) {  // one matrix per expert
    Saved rows, columns;
    check_against(trained_by(arch, Optimizer::adafactor), usual, 1e-12,
                  [&](const Parameter& p, Numbers& w, const Numbers& g, int step) {
                    const double b = 1 - std::pow(step, -0.8);
                    const bool matrix = p.shape.in > 0;
                    const std::size_t groups = matrix ? static_cast<std::size_t>(p.shape.groups) : 1;
                    const std::size_t in = matrix ? static_cast<std::size_t>(p.shape.in) : 1,
                                      out = w.size() / groups / in;
                    Numbers &r = rows.at(p.shape.name, groups * out), &c = columns.at(p.shape.name, groups * in);
                    for (std::size_t e = 0; e < groups; ++e) {
                      Numbers in_rows(out), in_columns(in), u(out * in);
                      double mean = 0, square = 0;
                      for (std::size_t i = 0; i < out * in; ++i) {
                        const double s = g[e * out * in + i] * g[e * out * in + i] + 1e-30;
                        in_rows[i / in] += s / static_cast<double>(in);
                        in_columns[i % in] += s / static_cast<double>(out);
                      }
                      for (std::size_t i = 0; i < out; ++i) r[e * out + i] = b * r[e * out + i] + (1 - b) * in_rows[i];
                      for (std::size_t i = 0; i < in; ++i) c[e * in + i] = b * c[e * in + i] + (1 - b) * in_columns[i];
                      for (std::size_t i = 0; i < out; ++i) mean += r[e * out + i] / static_cast<double>(out);
                      for (std::size_t i = 0; i < out * in; ++i) {
                        const double v = matrix ? r[e * out + i / in] * c[e * in + i % in] / mean : r[i];
                        u[i] = g[e * out * in + i] / std::sqrt(v);
                        if (matrix) square += u[i] * u[i] / static_cast<double>(out * in);
                      }
                      if (!matrix) {  // all groups of biases of a parameter are one vector
                        for (const double x : u) square += x * x / static_cast<double>(u.size());
                      }
                      const double most = std::max(1.0, std::sqrt(square));
                      for (std::size_t i = 0; i < out * in; ++i) {
                        double& x = w[e * out * in + i];
                        x = x * shrink(p) - 0.01 * u[i] / most;
                      }
                    }
                  });
  }
}

TEST_CASE("Muon orthogonalizes the momentum of layer matrices, and AdamW updates the rest", "[optimizer]") {
  for (const Arch& arch : {test::tiny_gpt(), test::tiny_deepseek()}) {
    Saved velocities, first, second;
    std::size_t matrices = 0;
    check_against(trained_by(arch, Optimizer::muon), usual, 1e-10,
                  [&](const Parameter& p, Numbers& w, const Numbers& g, int step) {
                    if (p.shape.in > 0 && p.shape.name.starts_with("layers.")) {
                      ++matrices;
                      const auto in = static_cast<std::size_t>(p.shape.in), out = static_cast<std::size_t>(p.shape.out);
                      Numbers& velocity = velocities.at(p.shape.name, w.size());
                      for (std::size_t e = 0; e * in * out < w.size(); ++e) {
                        Matrix ahead(out, Numbers(in));
                        for (std::size_t i = 0; i < in * out; ++i) {
                          double& v = velocity[e * in * out + i];
                          v = 0.75 * v + g[e * in * out + i];
                          ahead[i / in][i % in] = g[e * in * out + i] + 0.75 * v;
                        }
                        ahead = orthogonal(ahead);
                        const double size =
                            std::sqrt(std::max(1.0, static_cast<double>(out) / static_cast<double>(in)));
                        for (std::size_t i = 0; i < in * out; ++i) {
                          double& x = w[e * in * out + i];
                          x = x * shrink(p) - 0.01 * size * ahead[i / in][i % in];
                        }
                      }
                      return;
                    }
                    Numbers &m = first.at(p.shape.name, w.size()), &v = second.at(p.shape.name, w.size());
                    for (std::size_t i = 0; i < w.size(); ++i) {
                      m[i] = 0.9 * m[i] + 0.1 * g[i];
                      v[i] = 0.8 * v[i] + 0.2 * g[i] * g[i];
                      w[i] = w[i] * shrink(p) - 0.01 * m[i] / (1 - std::pow(0.9, step)) /
                                                    (std::sqrt(v[i] / (1 - std::pow(0.8, step))) + 1e-8);
                    }
                  });
    CHECK(matrices > 20);
  }
}

TEST_CASE("an orthogonalized update has singular values near 1", "[optimizer]") {
  Matrix x(5, Numbers(9));
  for (std::size_t i = 0; i < 45; ++i) x[i / 9][i % 9] = std::sin(static_cast<double>(i * i));
  const Matrix o = orthogonal(x), square = product(o, turned(o));
  for (std::size_t i = 0; i < 5; ++i) CHECK(square[i][i] == Approx(1).margin(0.6));
}

TEST_CASE("the 256 8-bit moment codes are distinct, dense near 0 and decode to their own nearest values",
          "[optimizer]") {
  for (const DynamicCodes* codes : {&DynamicCodes::with_signs(), &DynamicCodes::without_signs()}) {
    for (int i = 0; i < 256; ++i) {
      const auto code = static_cast<std::uint8_t>(i);
      CHECK(codes->code(codes->value(code)) == code);
      if (i > 0) CHECK(codes->value(code) > codes->value(static_cast<std::uint8_t>(i - 1)));
    }
    CHECK(codes->value(255) == 1);
    CHECK(codes->value(codes->code(0)) == 0);
    for (float x = 1e-5F; x <= 1; x *= 1.1F) {
      const double y = static_cast<double>(codes->value(codes->code(x)));
      CHECK(std::fabs(y - static_cast<double>(x)) <= 0.5 * static_cast<double>(x));
    }
  }
  CHECK(DynamicCodes::with_signs().value(0) == Approx(-0.99296875));  // the smallest value is not -1
}

TEST_CASE("8-bit AdamW stays close to AdamW, with about 2 bytes of states per parameter", "[optimizer]") {
  const Arch arch = test::tiny_deepseek();
  Run coded(trained_by(arch, Optimizer::adam8bit), Number::f32), exact(trained_by(arch, Optimizer::adam), Number::f32);
  const Numbers start = test::weights(coded.t);
  for (Run* r : {&coded, &exact}) {
    r->make_trainable();
    for (std::uint64_t i = 0; i < 5; ++i)
      r->t.train(std::vector<Batch>{test::tiny_batch(arch, r->t.settings().plan, i)},
                 {.rate = 0.01, .decay = 0, .clip = 0});
  }
  const Count n = coded.t.weights().count();
  CHECK(n % 256 != 0);
  CHECK(coded.t.arena().live(Purpose::optimizer) == Bytes(2 * n + 8 * ceil_div(n, 256)));
  Numbers moved = test::weights(coded.t), right = test::weights(exact.t);
  for (std::size_t i = 0; i < start.size(); ++i) moved[i] -= start[i], right[i] -= start[i];
  CHECK(difference(moved, right) < 0.15);
  CHECK(difference(moved, right) > 0);
}

TEST_CASE("bfloat16 optimizer states use half the bytes of float32 and give nearly the same updates", "[optimizer]") {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::momentum, Optimizer::lion, Optimizer::muon}) {
    const Variant wide = trained_by(test::tiny_gpt(), optimizer);
    Variant narrow = wide;
    narrow.plan.state_precision = dtypes::bf16;
    Run a(narrow, Number::f32), b(wide, Number::f32);
    const Numbers start = test::weights(a.t);
    for (Run* r : {&a, &b}) {
      r->make_trainable();
      for (std::uint64_t i = 0; i < 5; ++i)
        r->t.train(std::vector<Batch>{test::tiny_batch(wide.arch, wide.plan, i)},
                   {.rate = 0.01, .decay = 0, .clip = 0});
    }
    INFO("optimizer " << static_cast<int>(optimizer));
    CHECK(2 * a.t.arena().live(Purpose::optimizer) == b.t.arena().live(Purpose::optimizer));
    Numbers moved = test::weights(a.t), right = test::weights(b.t);
    for (std::size_t i = 0; i < start.size(); ++i) moved[i] -= start[i], right[i] -= start[i];
    CHECK(difference(moved, right) < 0.1);
    CHECK(difference(moved, right) > 0);
  }
}
