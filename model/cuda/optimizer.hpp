#pragma once
/// Optimizers on a GPU: one step on n weights.

#include <cmath>

#include "model/cuda/pack.hpp"
#include "model/cuda/replay.hpp"
#include "model/cuda/rows.hpp"
#include "model/math/clip.hpp"

namespace llmcalc::model::cuda {

/// A kernel that touches nothing where the factor is not a number, nor, where it is to multiply, where it is 1.
template <typename Kernel>
struct WithFactor {
  static constexpr bool alone = true;
  const double* factor;
  bool multiplies;
  Kernel kernel;
  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    if (is_factor(factor) && !(multiplies && *factor == 1)) kernel(t);
  }
};
template <typename Device, typename Kernel>
void with_factor(Device& device, const double* factor, bool multiplies, const Kernel& kernel) {
  shared_out(device, kernel.pieces(), WithFactor<Kernel>{factor, multiplies, kernel});
}

template <typename Device>
void multiply_by(Device& device, Count count, const double* factor, float* g) {
  const auto next = [=] LLMCALC_DEVICE(Count, float& d) { d *= static_cast<float>(*factor); };
  with_factor(device, factor, true, columns_of(count, next, updates(g)));
}

/// The settings at a step's number and rate.
struct AdamWScalars {
  float rate, shrink, bias1, bias2;
};
inline AdamWScalars adamw_scalars(const AdamW& o) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const double step = static_cast<double>(o.step);
  return {f(o.rate), f(1 - o.rate * o.decay), f(1 / (1 - std::pow(o.beta1, step))),
          f(1 / (1 - std::pow(o.beta2, step)))};
}
template <typename Device>
Moved<AdamWScalars> moved_scalars(Replays<Device>& replays, const AdamW& o) {
  return replays.moved(adamw_scalars(o), [o](const Moving& now) {
    AdamW later = o;
    later.rate = now.rate;
    later.step = now.step;
    return adamw_scalars(later);
  });
}

/// AdamW with bias correction; `master`: the weights of which `weight` is the rounded copy, or null.
template <typename Device, typename T>
void adamw(Device& device, Count count, const AdamW& o, const Moved<AdamWScalars>& scalars, const float* g, T* weight,
           float* master, float* m, float* v) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const float b1 = f(o.beta1), b2 = f(o.beta2), c1 = f(1 - o.beta1), c2 = f(1 - o.beta2), epsilon = f(o.epsilon);
  const bool copied = master != nullptr;
  const auto next = [=] LLMCALC_DEVICE(Count, float d, float& w, float& exact, float& first, float& second) {
    const AdamWScalars now = scalars.now();
    first = b1 * first + c1 * d;
    second = b2 * second + c2 * d * d;
    w = (copied ? exact : w) * now.shrink - now.rate * (first * now.bias1) / (sqrt_of(second * now.bias2) + epsilon);
    exact = w;
  };
  const Column<T> rounded = copied ? writes(weight) : updates(weight);
  with_factor(device, o.factor, false,
              columns_of(count, next, reads(g), rounded, updates(master), updates(m), updates(v)));
}

struct MomentumScalars {
  float rate, shrink;
};
inline MomentumScalars momentum_scalars(const Momentum& o) {
  return {static_cast<float>(o.rate), static_cast<float>(1 - o.rate * o.decay)};
}
template <typename Device>
Moved<MomentumScalars> moved_scalars(Replays<Device>& replays, const Momentum& o) {
  return replays.moved(momentum_scalars(o), [o](const Moving& now) {
    Momentum later = o;
    later.rate = now.rate;
    return momentum_scalars(later);
  });
}

/// velocity = momentum velocity + g; w -= rate velocity. Without a velocity: plain gradient descent.
template <typename Device, typename T>
void sgd(Device& device, Count count, const Momentum& o, const Moved<MomentumScalars>& scalars, const float* g,
         T* weight, float* master, float* velocity) {
  const float keep = static_cast<float>(o.momentum);
  const bool copied = master != nullptr, moving = velocity != nullptr;
  const auto next = [=] LLMCALC_DEVICE(Count, float d, float& w, float& exact, float& speed) {
    const MomentumScalars now = scalars.now();
    speed = moving ? keep * speed + d : d;
    w = (copied ? exact : w) * now.shrink - now.rate * speed;
    exact = w;
  };
  const Column<T> rounded = copied ? writes(weight) : updates(weight);
  with_factor(device, o.factor, false, columns_of(count, next, reads(g), rounded, updates(master), updates(velocity)));
}

/// See Backend::clip; one thread.
struct ClipOf {
  const double *losses, *squares;
  std::size_t batches, parameters;
  double most, *norm;
  LLMCALC_HD void operator()(Count) const {
    const Clip c = clip_of(losses, batches, squares, parameters, most);
    norm[0] = c.norm;
    norm[1] = c.factor;
  }
};

/// Sums of squares of stretches of a gradient, and their sum.
template <typename Device>
void square_sum(Device& device, int threads, Count room, Count count, const float* g, double* sum) {
  constexpr Count stretch = 1 << 16;
  const Count blocks = (count + stretch - 1) / stretch;
  const Room<Device, double> sums(device, blocks);
  at_packs<4>(g) ? device.launch(SquareSums<4>{count, stretch, g, sums.data()}, blocks, threads, room)
                 : device.launch(SquareSums<1>{count, stretch, g, sums.data()}, blocks, threads, room);
  device.launch(SumOf{blocks, sums.data(), sum}, 1, threads, room);
}

}  // namespace llmcalc::model::cuda
