#pragma once
/// Optimizers on a GPU: one launch for all parameters.

#include <cmath>

#include "model/cuda/fast/replay.hpp"
#include "model/cuda/pack.hpp"
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
/// One launch of kernels over columns of numbers, for all parameters.
template <typename Device, typename Kernel>
void with_factor(Device& device, const double* factor, bool multiplies, const std::vector<Kernel>& kernels) {
  using Each = EachOf<Kernel>;
  const std::vector<Count> begins = stretch_begins(kernels, Each::stretch, [](const Kernel& k) { return k.pieces(); });
  if (begins.back() == 0) return;
  const Room<Device, Kernel> there(device, kernels);
  const Room<Device, Count> stretches(device, begins);
  const Each each{there.data(), {stretches.data(), static_cast<Count>(kernels.size())}};
  device.launch(WithFactor<Each>{factor, multiplies, each}, begins.back(), 256, 0);
}

struct TimesFactor {
  const double* factor;
  LLMCALC_HD void operator()(Count, float& d) const { d *= static_cast<float>(*factor); }
};
template <typename Device>
void multiply_by(Device& device, Updates parameters, const double* factor) {
  const auto kernel = [=](const ParameterUpdate& p) {
    return columns_of(p.n, TimesFactor{factor}, updates(static_cast<float*>(p.gradient)));
  };
  std::vector<decltype(kernel(parameters[0]))> kernels;
  for (const ParameterUpdate& p : parameters) kernels.push_back(kernel(p));
  with_factor(device, factor, true, kernels);
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

/// AdamW with bias correction of one number; `copied`: w is the rounded copy of `exact`.
struct AdamWStep {
  float b1, b2, c1, c2, epsilon;
  Moved<AdamWScalars> scalars;
  bool copied;
  LLMCALC_HD void operator()(Count, float d, float& w, float& exact, float& first, float& second) const {
    const AdamWScalars now = scalars.now();
    first = b1 * first + c1 * d;
    second = b2 * second + c2 * d * d;
    w = (copied ? exact : w) * now.shrink - now.rate * (first * now.bias1) / (sqrt_of(second * now.bias2) + epsilon);
    exact = w;
  }
};
/// A step of AdamW on one parameter, whose weights are numbers of T.
template <typename T>
auto optimizer_kernel(const ParameterUpdate& p, const AdamW& o, const Moved<AdamWScalars>& scalars) {
  const auto f = [](double x) { return static_cast<float>(x); };
  const bool copied = p.master != nullptr;
  const AdamWStep step{f(o.beta1), f(o.beta2), f(1 - o.beta1), f(1 - o.beta2), f(o.epsilon), scalars, copied};
  T* const weight = static_cast<T*>(p.weight);
  return columns_of(p.n, step, reads(static_cast<const float*>(p.gradient)), copied ? writes(weight) : updates(weight),
                    updates(static_cast<float*>(p.master)), updates(static_cast<float*>(p.first)),
                    updates(static_cast<float*>(p.second)));
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

/// velocity = momentum velocity + g; w -= rate velocity. Not `moving`: plain gradient descent.
struct MomentumStep {
  float keep;
  Moved<MomentumScalars> scalars;
  bool copied, moving;
  LLMCALC_HD void operator()(Count, float d, float& w, float& exact, float& speed) const {
    const MomentumScalars now = scalars.now();
    speed = moving ? keep * speed + d : d;
    w = (copied ? exact : w) * now.shrink - now.rate * speed;
    exact = w;
  }
};
/// A step of gradient descent, with momentum or without, on one parameter, whose weights are numbers of T.
template <typename T>
auto optimizer_kernel(const ParameterUpdate& p, const Momentum& o, const Moved<MomentumScalars>& scalars) {
  const bool copied = p.master != nullptr;
  const MomentumStep step{static_cast<float>(o.momentum), scalars, copied, p.first != nullptr};
  T* const weight = static_cast<T*>(p.weight);
  return columns_of(p.n, step, reads(static_cast<const float*>(p.gradient)), copied ? writes(weight) : updates(weight),
                    updates(static_cast<float*>(p.master)), updates(static_cast<float*>(p.first)));
}

/// An optimizer's step on all parameters.
template <typename T, typename Device, typename O>
void optimize(Device& device, Replays<Device>& replays, Updates parameters, const O& o) {
  O undecayed = o;
  undecayed.decay = 0;
  const auto scalars = moved_scalars(replays, o), of_undecayed = moved_scalars(replays, undecayed);
  std::vector<decltype(optimizer_kernel<T>(parameters[0], o, scalars))> kernels;
  for (const ParameterUpdate& p : parameters)
    kernels.push_back(optimizer_kernel<T>(p, o, p.decays ? scalars : of_undecayed));
  with_factor(device, o.factor, false, kernels);
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

/// Sums of squares of stretches of every gradient, and their sums. `room`: bytes for a block's sum.
template <typename Device>
void square_sums(Device& device, int threads, Count room, Updates parameters, double* sums) {
  constexpr Count stretch = 1 << 16;
  std::vector<FloatArray> arrays;
  bool packed = true;
  for (const ParameterUpdate& p : parameters) {
    arrays.push_back({static_cast<const float*>(p.gradient), p.n});
    packed = packed && at_packs<4>(arrays.back().x);
  }
  const std::vector<Count> begins = stretch_begins(arrays, stretch, [](const FloatArray& a) { return a.n; });
  const Room<Device, FloatArray> there(device, arrays);
  const Room<Device, Count> at(device, begins);
  const Room<Device, double> parts(device, begins.back());
  const Stretches all{at.data(), static_cast<Count>(arrays.size())};
  packed ? device.launch(SquareSums<4>{there.data(), all, stretch, parts.data()}, begins.back(), threads, room)
         : device.launch(SquareSums<1>{there.data(), all, stretch, parts.data()}, begins.back(), threads, room);
  device.launch(ArraySums{all, parts.data(), sums}, all.arrays, threads, room);
}

}  // namespace llmcalc::model::cuda
