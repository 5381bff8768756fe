#pragma once
/// Model runs to compare, and comparisons: bitwise or within rounding.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "tests/models/tiny.hpp"

namespace llmcalc::test {

using Numbers = std::vector<double>;

inline double norm(std::span<const double> a) {
  double square = 0;
  for (const double x : a) square += x * x;
  return std::sqrt(square);
}

/// |a - b| / |b|. NaN if a value is NaN; infinite if the sizes differ or are zero.
inline double difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  Numbers d(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) d[i] = a[i] - b[i];
  return norm(d) / norm(b);
}

/// Whether the values are finite and bitwise equal; false if there are no values.
inline bool identical(std::span<const double> a, std::span<const double> b) {
  const auto same = [](double x, double y) {
    return std::isfinite(x) && std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return !a.empty() && std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// A number type, and the tolerance between two computations of the same result.
struct Kind {
  model::Number number;
  const char* name;
  double rounding;
};
/// bf16 has 8 bits of mantissa: each rounding is 2^-9 = 0.002, and a pass of two layers rounds dozens of times in a
/// row. fp16 has 11 bits, and fewer for small values.
inline constexpr Kind kinds[] = {{model::Number::f32, "float32", 1e-5},
                                 {model::Number::bf16, "bf16", 0.03},
                                 {model::Number::f16, "fp16", 0.03 / 6},
                                 {model::Number::f64, "double", 1e-12}};

/// Tolerance between two computations of a model's result: a model with twice the layers rounds twice as often in a
/// row.
inline double room(const Variant& v, const Kind& k) {
  return k.rounding * std::max(1.0, static_cast<double>(v.arch.layers) / 2);
}

/// A model on its own backend, with scrambled weights that depend only on the variant, format and seed.
struct Run {
  std::unique_ptr<model::Backend> cpu;
  model::Transformer t;
  explicit Run(const Variant& v, model::Number number, bool poison = false, std::uint64_t seed = 11)
      : cpu(model::make_cpu(number, poison)), t(v.arch, *cpu, {.plan = v.plan}, seed) {
    scramble(t, seed, 0.3);
  }
  void make_trainable() { t.weights().make_trainable(t.settings().plan); }
};

/// All gradients, concatenated over the trained parameters.
inline Numbers gradients(const model::Transformer& given) {
  auto& t = const_cast<model::Transformer&>(given);
  Numbers all;
  for (const model::Parameter* p : t.weights().trained()) {
    const Numbers g = t.weights().gradient(*p);
    all.insert(all.end(), g.begin(), g.end());
  }
  return all;
}

/// All weights, as used in computation.
inline Numbers weights(model::Transformer& t) {
  Numbers all;
  for (const model::Parameter& p : t.weights().all()) {
    const Numbers w = t.weights().get(p.value, p.elements(), false);
    all.insert(all.end(), w.begin(), w.end());
  }
  return all;
}

/// The loss of one micro-batch, followed by its gradients.
inline Numbers loss_and_gradients(const Variant& v, model::Number number, bool poison = false) {
  Run r(v, number, poison);
  r.make_trainable();
  // Gradients below 2^-14 have fewer bits in fp16, so the loss is scaled, as usual in fp16 training.
  const double scale = number == model::Number::f16 ? 256 : 1;
  Numbers all{r.t.gradients(tiny_batch(v.arch, v.plan, 5), scale, nullptr)};
  const Numbers g = gradients(r.t);
  all.insert(all.end(), g.begin(), g.end());
  return all;
}

/// The same model with this context length.
inline Variant with_context(Variant v, Count tokens) {
  v.arch.context = tokens;
  if (v.arch.position == Position::learned) v.arch.position_rows = tokens;
  return v;
}

/// The same model, with enough width and tokens for its loops to run on several threads and its matmuls in blocks.
inline Variant grown(const Variant& given) {
  Variant v = with_context(given, 48);
  Arch& a = v.arch;
  for (Count* n : {&a.hidden, &a.embedding_width, &a.mlp_width, &a.moe.width, &a.moe.shared_width}) *n *= 8;
  for (Count* n : {&a.head_dim, &a.latent.q_rank, &a.latent.kv_rank, &a.latent.nope_dim, &a.latent.rope_dim,
                   &a.latent.v_dim, &a.local.reach.tokens})
    *n *= 4;
  a.vocabulary *= 20;
  if (a.per_layer.width > 0) a.per_layer.rows = a.vocabulary;
  v.plan.seq = 48;
  v.plan.micro_batch = v.plan.global_batch = 4;
  return v;
}

/// The n doubles that f writes to the backend's memory.
template <typename F>
std::vector<double> left_by(model::Backend& b, std::size_t n, F f) {
  std::vector<double> all(n);
  const Bytes bytes(static_cast<Count>(n * sizeof(double)));
  auto* const there = static_cast<double*>(b.allocate(bytes));
  f(there);
  b.download(all.data(), there, bytes);
  b.release(there, bytes);
  return all;
}

}  // namespace llmcalc::test
