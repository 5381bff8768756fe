#pragma once
/// What a step does to n weights on a GPU.

#include <cmath>

#include "model/cuda/pointwise.hpp"
#include "model/cuda/replay.hpp"
#include "model/cuda/rows.hpp"
#include "model/math/clip.hpp"

namespace llmcalc::model::cuda {

template <typename Device>
void multiply_by(Device& device, Count count, const double* factor, float* g) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) {
    if (is_factor(factor) && *factor != 1) g[i] = g[i] * static_cast<float>(*factor);
  });
}

/// What a step's number and rate make of the settings.
struct AdamWScalars {
  float rate, shrink, bias1, bias2;
};
inline AdamWScalars adamw_scalars(const AdamW& o) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const double step = static_cast<double>(o.step);
  return {f(o.rate), f(1 - o.rate * o.decay), f(1 / (1 - std::pow(o.beta1, step))),
          f(1 / (1 - std::pow(o.beta2, step)))};
}

/// AdamW with bias correction; `master`: the weights of which `weight` is the rounded copy, or null.
template <typename Device, typename T>
void adamw(Device& device, Count count, const AdamW& o, const Moved<AdamWScalars>& scalars, const float* g, T* weight,
           float* master, float* m, float* v) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const float b1 = f(o.beta1), b2 = f(o.beta2), c1 = f(1 - o.beta1), c2 = f(1 - o.beta2), epsilon = f(o.epsilon);
  const double* const factor = o.factor;
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) {
    if (!is_factor(factor)) return;
    const AdamWScalars s = scalars.now();
    const float first = b1 * m[i] + c1 * g[i], second = b2 * v[i] + c2 * g[i] * g[i];
    const float now = master != nullptr ? master[i] : wide(weight[i]);
    const float next = now * s.shrink - s.rate * (first * s.bias1) / (sqrt_of(second * s.bias2) + epsilon);
    m[i] = first, v[i] = second, weight[i] = static_cast<T>(next);
    if (master != nullptr) master[i] = next;
  });
}

struct MomentumScalars {
  float rate, shrink;
};
inline MomentumScalars momentum_scalars(const Momentum& o) {
  return {static_cast<float>(o.rate), static_cast<float>(1 - o.rate * o.decay)};
}

/// velocity = momentum velocity + g; w -= rate velocity. Without a velocity: plain gradient descent.
template <typename Device, typename T>
void sgd(Device& device, Count count, const Momentum& o, const Moved<MomentumScalars>& scalars, const float* g,
         T* weight, float* master, float* velocity) {
  const float keep = static_cast<float>(o.momentum);
  const double* const factor = o.factor;
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) {
    if (!is_factor(factor)) return;
    const MomentumScalars s = scalars.now();
    float d = g[i];
    if (velocity != nullptr) velocity[i] = d = keep * velocity[i] + d;
    const float next = (master != nullptr ? master[i] : wide(weight[i])) * s.shrink - s.rate * d;
    weight[i] = static_cast<T>(next);
    if (master != nullptr) master[i] = next;
  });
}

/// See Backend::clip; one thread.
struct ClipOf {
  const double *losses, *squares;
  std::size_t batches, parameters;
  double most, *norm;
  LLMCALC_HD void operator()(Count) const {
    const Clip c = clip_of(losses, batches, squares, parameters, most);
    norm[0] = c.norm, norm[1] = c.factor;
  }
};

/// Sums of squares of stretches of a gradient, and their sum.
template <typename Device>
void square_sum(Device& device, int threads, Count room, Count count, const float* g, double* sum) {
  constexpr Count stretch = 1 << 16;
  const Count blocks = (count + stretch - 1) / stretch;
  const Room<Device, double> sums(device, blocks);
  device.launch(SquareSums{count, stretch, g, sums.data()}, blocks, threads, room);
  device.launch(SumOf{blocks, sums.data(), sum}, 1, threads, room);
}

}  // namespace llmcalc::model::cuda
