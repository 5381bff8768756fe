#pragma once
/// Optimizers other than AdamW and gradient descent. Each applies one step to n weights, or to one matrix.

#include "model/cpu/aligned.hpp"
#include "model/cpu/products/matmul.hpp"
#include "model/cpu/rowwise/optimizer.hpp"
#include "model/math/clip.hpp"
#include "model/math/dynamic_codes.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// w = w shrink - rate u. With a master copy, descend() also writes the rounded copy.
template <typename W>
[[gnu::noinline]] void descend_row(Count n, W rate, W shrink, const W* u, W* weight) {
  lanes<W>(0, n, [=](Count i) { weight[i] = weight[i] * shrink - rate * u[i]; });
}
template <typename T>
void descend(Count n, double rate, double decay, T* weight, Wide<T>* master, const Wide<T>* u) {
  using W = Wide<T>;
  const W r = number<W>(rate), shrink = number<W>(1 - rate * decay);
  const auto row = [=](Count size, const W* by, W* to, W*, W*) { descend_row(size, r, shrink, by, to); };
  step_rows<T, W>(n, u, weight, master, nullptr, nullptr, row);
}

template <typename W>
W sign_of(W x) {
  return x > W(0) ? W(1) : x < W(0) ? W(-1) : W(0);
}

template <typename W>
struct LionRow {
  W b1, c1, b2, c2, rate, shrink;
  explicit LionRow(const OptimizerStep& o)
      : b1(number<W>(o.beta1)),
        c1(number<W>(1 - o.beta1)),
        b2(number<W>(o.beta2)),
        c2(number<W>(1 - o.beta2)),
        rate(number<W>(o.rate)),
        shrink(number<W>(1 - o.rate * o.decay)) {}
  [[gnu::noinline]] void operator()(Count n, const W* g, W* weight, W* m, W*) const {
    lanes<W>(0, n, [=, s = *this](Count i) {
      weight[i] = weight[i] * s.shrink - s.rate * sign_of(s.b1 * m[i] + s.c1 * g[i]);
      m[i] = s.b2 * m[i] + s.c2 * g[i];
    });
  }
};
template <typename T, typename M>
void lion(Count n, const OptimizerStep& o, const Wide<T>* g, T* weight, Wide<T>* master, M* m, M*) {
  step_rows(n, g, weight, master, m, static_cast<M*>(nullptr), LionRow<Wide<T>>(o));
}

/// Descends by u = g / sqrt(second moment), scaled down if the root mean square of u is above 1.
template <typename T, typename V>
void descend_clipped(Count n, const OptimizerStep& o, const Wide<T>* g, T* weight, Wide<T>* master, const V& second) {
  using W = Wide<T>;
  Aligned<W> u(static_cast<std::size_t>(n));
  W* const to = u.data();
  everywhere<W>(n, [=](Count i) { to[i] = g[i] / sqrt_of(second(i)); });
  const double root = std::sqrt(square_sum(n, to) / static_cast<double>(n));
  const W factor = number<W>(1 / std::max(1.0, root));
  everywhere<W>(n, [=](Count i) { to[i] = to[i] * factor; });
  descend(n, o.rate, o.decay, weight, master, to);
}

/// The decay of second moments at a step, 1 - step^-0.8, which needs no bias correction.
inline double second_decay(Count step) { return 1 - std::pow(static_cast<double>(step), -0.8); }
inline constexpr double added_to_squares = 1e-30;

/// Applies an Adafactor step to a vector, with one second moment per element.
template <typename T>
void adafactor(Count n, const OptimizerStep& o, const Wide<T>* g, T* weight, Wide<T>* master, Wide<T>* v) {
  using W = Wide<T>;
  const W b = number<W>(second_decay(o.step)), c = number<W>(1 - second_decay(o.step)), e = number<W>(added_to_squares);
  everywhere<W>(n, [=](Count i) { v[i] = b * v[i] + c * (g[i] * g[i] + e); });
  descend_clipped(n, o, g, weight, master, [=](Count i) { return v[i]; });
}

/// Applies an Adafactor step to a matrix (out, in). `rows` (out) and `columns` (in) are running means of the gradient's
/// squares.
template <typename T>
void adafactor(Count out, Count in, const OptimizerStep& o, const Wide<T>* g, T* weight, Wide<T>* master, Wide<T>* rows,
               Wide<T>* columns) {
  using W = Wide<T>;
  const W b = number<W>(second_decay(o.step)), c = number<W>(1 - second_decay(o.step)), e = number<W>(added_to_squares);
  const W across = number<W>(1 / static_cast<double>(in)), along = number<W>(1 / static_cast<double>(out));
  each<T>(out, in, [=](Count r) {
    const W* const row = g + r * in;
    rows[r] = b * rows[r] + c * across * sum_of<W>(in, [=](Count i) { return row[i] * row[i] + e; });
  });
  stripes<T>(in, out, [=](Count first, Count last) {
    Aligned<W> sums(static_cast<std::size_t>(last - first), W(0));
    for (Count r = 0; r < out; ++r)
      for (Count i = first; i < last; ++i)
        sums[static_cast<std::size_t>(i - first)] += g[r * in + i] * g[r * in + i] + e;
    for (Count i = first; i < last; ++i)
      columns[i] = b * columns[i] + c * along * sums[static_cast<std::size_t>(i - first)];
  });
  const W mean = along * sum_of<W>(out, [=](Count r) { return rows[r]; });
  descend_clipped(mul(out, in), o, g, weight, master, [=](Count i) { return rows[i / in] * columns[i % in] / mean; });
}

/// Makes X (m, n), m <= n, nearly orthogonal: iterates X = a X + (b A + c A A) X with A = X X'
/// (calc/training/muon.hpp).
template <typename W>
void orthogonalize(Count m, Count n, Count iterations, W* x) {
  const W a = number<W>(3.4445), b = number<W>(-4.7750), c = number<W>(2.0315);
  Aligned<W> square(static_cast<std::size_t>(m * m)), fourth(square.size()), next(static_cast<std::size_t>(m * n));
  for (Count i = 0; i < iterations; ++i) {
    matmul(MatmulShape{m, m, n, false, true, false, n, n, m}, x, x, square.data());
    matmul(MatmulShape{m, m, m, false, false, false, m, m, m}, square.data(), square.data(), fourth.data());
    everywhere<W>(m * m, [=, s = square.data(), f = fourth.data()](Count k) { s[k] = b * s[k] + c * f[k]; });
    matmul(MatmulShape{m, n, m, false, false, false, m, n, n}, square.data(), x, next.data());
    everywhere<W>(m * n, [=, y = next.data()](Count k) { x[k] = a * x[k] + y[k]; });
  }
}

template <typename W>
void transpose(Count rows, Count columns, const W* from, W* to) {
  each<W>(rows, columns, [=](Count r) {
    for (Count i = 0; i < columns; ++i) to[i * rows + r] = from[r * columns + i];
  });
}

/// Applies a Muon step, with Nesterov momentum, to a matrix (out, in). The update of a matrix with more rows than
/// columns is multiplied by sqrt(out / in) (github.com/KellerJordan/Muon).
template <typename T, typename M>
void muon(Count out, Count in, const OptimizerStep& o, const Wide<T>* g, T* weight, Wide<T>* master, M* velocity) {
  using W = Wide<T>;
  const Count n = mul(out, in);
  const W keep = number<W>(o.momentum);
  Aligned<W> ahead(static_cast<std::size_t>(n)), turned(out > in ? ahead.size() : 0);
  W* const u = ahead.data();
  chunks<W>(n, [=](Count first, Count last) {
    W room[row_block];
    for (Count at = first; at < last; at += row_block) {
      const Count size = std::min(row_block, last - at);
      W* const faster = const_cast<W*>(widened(size, velocity + at, room));
      lanes<W>(0, size, [=](Count i) {
        faster[i] = keep * faster[i] + g[at + i];
        u[at + i] = g[at + i] + keep * faster[i];
      });
      if (static_cast<const void*>(faster) != velocity + at) put_row(size, faster, velocity + at, false);
    }
  });
  multiply_by(n, 1 / (std::sqrt(square_sum(n, u)) + 1e-7), u);
  if (out > in) transpose(out, in, u, turned.data());
  orthogonalize(std::min(out, in), std::max(out, in), o.iterations, out > in ? turned.data() : u);
  if (out > in) transpose(in, out, turned.data(), u);
  const double size = std::sqrt(std::max(1.0, static_cast<double>(out) / static_cast<double>(in)));
  const W factor = number<W>(size);
  everywhere<W>(n, [=](Count i) { u[i] = factor * u[i]; });
  descend(n, o.rate, o.decay, weight, master, u);
}

// ---- parameters

template <typename T>
const Wide<T>* gradient_of(const ParameterUpdate& p) {
  return static_cast<const Wide<T>*>(p.gradient);
}
template <typename T>
T* weight_of(const ParameterUpdate& p) {
  return static_cast<T*>(p.weight);
}
template <typename T>
Wide<T>* master_of(const ParameterUpdate& p) {
  return static_cast<Wide<T>*>(p.master);
}
inline OptimizerStep decayed(OptimizerStep o, const ParameterUpdate& p) {
  if (!p.decays) o.decay = 0;
  return o;
}

/// Calls f(first, second) with the states in their format.
template <typename T, typename F>
void with_states(const ParameterUpdate& p, const F& f) {
  using W = Wide<T>;
  if constexpr (std::is_same_v<W, float>) {
    if (p.states == StateFormat::bf16) return f(static_cast<bf16*>(p.first), static_cast<bf16*>(p.second));
    if (p.states == StateFormat::fp16) return f(static_cast<fp16*>(p.first), static_cast<fp16*>(p.second));
  }
  f(static_cast<W*>(p.first), static_cast<W*>(p.second));
}

/// Calls f(matrix index, index of its first element, its master copy or null) for every matrix of a parameter.
template <typename T, typename F>
void each_matrix(const ParameterUpdate& p, const F& f) {
  for (Count g = 0; g < p.groups; ++g) {
    const Count at = mul(g, p.out, p.in);
    f(g, at, p.master != nullptr ? master_of<T>(p) + at : nullptr);
  }
}

template <typename T>
void adafactor(const ParameterUpdate& p, const OptimizerStep& o) {
  auto* const first = static_cast<Wide<T>*>(p.first);
  auto* const second = static_cast<Wide<T>*>(p.second);
  if (p.out == 0) return adafactor(p.n, o, gradient_of<T>(p), weight_of<T>(p), master_of<T>(p), second);
  each_matrix<T>(p, [&](Count g, Count at, Wide<T>* master) {
    adafactor(p.out, p.in, o, gradient_of<T>(p) + at, weight_of<T>(p) + at, master, first + g * p.out,
              second + g * p.in);
  });
}
template <typename T>
void muon(const ParameterUpdate& p, const OptimizerStep& o) {
  with_states<T>(p, [&](auto* velocity, auto*) {
    each_matrix<T>(p, [&](Count, Count at, Wide<T>* master) {
      muon(p.out, p.in, o, gradient_of<T>(p) + at, weight_of<T>(p) + at, master, velocity + at);
    });
  });
}

/// Applies one step to one parameter.
template <typename T>
void update(const ParameterUpdate& p, const OptimizerStep& o) {
  const auto element_wise = [&](const auto& step) {
    with_states<T>(p, [&](auto* first, auto* second) {
      step(p.n, o, gradient_of<T>(p), weight_of<T>(p), master_of<T>(p), first, second);
    });
  };
  const auto adam = [](auto... x) { adamw(x...); };
  switch (o.optimizer) {
    case Optimizer::adam:
    case Optimizer::adam8bit:
      return element_wise(adam);
    case Optimizer::momentum:
    case Optimizer::sgd:
      return element_wise([](auto... x) { sgd(x...); });
    case Optimizer::lion:
      return element_wise([](auto... x) { lion(x...); });
    case Optimizer::adafactor:
      return adafactor<T>(p, o);
    case Optimizer::muon:
      return p.out == 0 ? element_wise(adam) : muon<T>(p, o);
  }
}

// ---- AdamW in 8 bits

/// One block of quantized moments, and its conversion from and to elements.
struct CodedBlock {
  std::uint8_t* codes;
  float* scale;
  const DynamicCodes& map;
  template <typename W>
  void decode(Count n, W* to) const {
    for (Count i = 0; i < n; ++i) to[i] = W(static_cast<Plain<W>>(*scale * map.value(codes[i])));
  }
  template <typename W>
  void encode(Count n, const W* from) const {
    float most = 0;
    for (Count i = 0; i < n; ++i) most = std::max(most, std::fabs(static_cast<float>(static_cast<Plain<W>>(from[i]))));
    *scale = most;
    for (Count i = 0; i < n; ++i)
      codes[i] = map.code(most > 0 ? static_cast<float>(static_cast<Plain<W>>(from[i])) / most : 0.0F);
  }
};

/// Treats the parameters as concatenated: calls f(parameter, first element in the parameter, offset in the range,
/// count) for each parameter's part of [begin, end).
template <typename F>
void each_part(Updates all, std::span<const Count> starts, Count begin, Count end, const F& f) {
  auto at = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), begin) - starts.begin()) - 1;
  for (; at < all.size() && starts[at] < end; ++at) {
    const Count first = std::max(begin, starts[at]), last = std::min(end, starts[at] + all[at].n);
    if (last > first) f(all[at], first - starts[at], first - begin, last - first);
  }
}

template <typename T>
void adamw_in_8_bits(Updates all, const OptimizerStep& o) {
  auto* const moments = static_cast<std::uint8_t*>(o.coded);
  using W = Wide<T>;
  constexpr Count block = coded_block;
  std::vector<Count> starts;
  Count n = 0;
  for (const ParameterUpdate& p : all) starts.push_back(n), n += p.n;
  const Count blocks = ceil_div(n, block);
  std::vector<float> scales(static_cast<std::size_t>(2 * blocks));
  std::memcpy(scales.data(), moments + 2 * n, scales.size() * sizeof(float));
  each<T>(blocks, block * 16, [&](Count b) {
    const Count begin = b * block, size = std::min(block, n - begin);
    W m[block], v[block];
    const CodedBlock first{moments + begin, &scales[static_cast<std::size_t>(b)], DynamicCodes::with_signs()};
    const CodedBlock second{moments + n + begin, &scales[static_cast<std::size_t>(blocks + b)],
                            DynamicCodes::without_signs()};
    first.decode(size, m);
    second.decode(size, v);
    each_part(all, starts, begin, begin + size, [&](const ParameterUpdate& p, Count from, Count at, Count count) {
      W* const master = master_of<T>(p);
      adamw(count, decayed(o, p), gradient_of<T>(p) + from, weight_of<T>(p) + from,
            master != nullptr ? master + from : nullptr, m + at, v + at);
    });
    first.encode(size, m);
    second.encode(size, v);
  });
  std::memcpy(moments + 2 * n, scales.data(), scales.size() * sizeof(float));
}

/// Applies one step to all parameters; skips the step if the factor is NaN.
template <typename T>
void update(Updates all, const OptimizerStep& o) {
  if (!is_factor(o.factor)) return;
  if (traits(o.optimizer).storage == MomentStorage::coded) return adamw_in_8_bits<T>(all, o);
  for (const ParameterUpdate& p : all) update<T>(p, decayed(o, p));
}

}  // namespace llmcalc::model::LLMCALC_ISA
