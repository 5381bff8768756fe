#pragma once
/// Optimizers on a GPU: one launch for all parameters.

#include <cmath>
#include <stdexcept>
#include <vector>

#include "model/cuda/fast/replay.hpp"
#include "model/cuda/kernels/pack.hpp"
#include "model/cuda/kernels/rows.hpp"
#include "model/math/clip.hpp"

namespace llmcalc::model::cuda {

/// Runs a kernel unless the factor is NaN or, for a kernel that multiplies by it, 1.
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
/// Runs kernels over columns of elements in one launch for all parameters.
template <typename Device, typename Kernel>
void with_factor(Device& device, const double* factor, bool multiplies, const std::vector<Kernel>& kernels) {
  using Each = EachOf<Kernel>;
  const std::vector<Count> begins = stretch_begins(kernels, Each::stretch, [](const Kernel& k) { return k.pieces(); });
  if (begins.back() == 0) return;
  const DeviceWorkspace<Device, Kernel> there(device, kernels);
  const DeviceWorkspace<Device, Count> stretches(device, begins);
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

/// AdamW with bias correction, on one element; `copied`: whether w is the rounded copy of `exact`.
struct AdamW {
  /// The values derived from a step's number and rate.
  struct Scalars {
    float rate, shrink, bias1, bias2;
  };
  float b1, b2, c1, c2, epsilon;
  Moved<Scalars> scalars;
  bool copied;

  static Scalars scalars_at(const OptimizerStep& o) {
    const auto f = [](double x) { return static_cast<float>(x); };
    const double step = static_cast<double>(o.step);
    return {f(o.rate), f(1 - o.rate * o.decay), f(1 / (1 - std::pow(o.beta1, step))),
            f(1 / (1 - std::pow(o.beta2, step)))};
  }
  LLMCALC_HD void operator()(Count, float d, float& w, float& exact, float& first, float& second) const {
    const Scalars now = scalars.now();
    first = b1 * first + c1 * d;
    second = b2 * second + c2 * d * d;
    w = (copied ? exact : w) * now.shrink - now.rate * (first * now.bias1) / (sqrt_of(second * now.bias2) + epsilon);
    exact = w;
  }
  /// A step on one parameter, with weights of type T.
  template <typename T>
  static auto kernel(const ParameterUpdate& p, const OptimizerStep& o, const Moved<Scalars>& scalars) {
    const auto f = [](double x) { return static_cast<float>(x); };
    const bool copied = p.master != nullptr;
    const AdamW step{f(o.beta1), f(o.beta2), f(1 - o.beta1), f(1 - o.beta2), f(o.epsilon), scalars, copied};
    T* const weight = static_cast<T*>(p.weight);
    return columns_of(p.n, step, reads(static_cast<const float*>(p.gradient)),
                      copied ? writes(weight) : updates(weight), updates(static_cast<float*>(p.master)),
                      updates(static_cast<float*>(p.first)), updates(static_cast<float*>(p.second)));
  }
};

/// velocity = momentum velocity + g; w -= rate velocity. Without `moving`: plain gradient descent.
struct Descent {
  struct Scalars {
    float rate, shrink;
  };
  float keep;
  Moved<Scalars> scalars;
  bool copied, moving;

  static Scalars scalars_at(const OptimizerStep& o) {
    return {static_cast<float>(o.rate), static_cast<float>(1 - o.rate * o.decay)};
  }
  LLMCALC_HD void operator()(Count, float d, float& w, float& exact, float& speed) const {
    const Scalars now = scalars.now();
    speed = moving ? keep * speed + d : d;
    w = (copied ? exact : w) * now.shrink - now.rate * speed;
    exact = w;
  }
  /// A step, with or without momentum, on one parameter with weights of type T.
  template <typename T>
  static auto kernel(const ParameterUpdate& p, const OptimizerStep& o, const Moved<Scalars>& scalars) {
    const bool copied = p.master != nullptr;
    const Descent step{static_cast<float>(o.momentum), scalars, copied, p.first != nullptr};
    T* const weight = static_cast<T*>(p.weight);
    return columns_of(p.n, step, reads(static_cast<const float*>(p.gradient)),
                      copied ? writes(weight) : updates(weight), updates(static_cast<float*>(p.master)),
                      updates(static_cast<float*>(p.first)));
  }
};

/// The scalars of a step, and of its replays.
template <typename Kernel, typename Device>
Moved<typename Kernel::Scalars> moved_scalars(Replays<Device>& replays, const OptimizerStep& o) {
  return replays.moved(Kernel::scalars_at(o), [o](const Moving& now) {
    OptimizerStep later = o;
    later.rate = now.rate;
    later.step = now.step;
    return Kernel::scalars_at(later);
  });
}

template <typename T, typename Kernel, typename Device>
void optimize(Device& device, Replays<Device>& replays, Updates parameters, const OptimizerStep& o) {
  OptimizerStep undecayed = o;
  undecayed.decay = 0;
  const auto scalars = moved_scalars<Kernel>(replays, o), of_undecayed = moved_scalars<Kernel>(replays, undecayed);
  std::vector<decltype(Kernel::template kernel<T>(parameters[0], o, scalars))> kernels;
  for (const ParameterUpdate& p : parameters)
    kernels.push_back(Kernel::template kernel<T>(p, o, p.decays ? scalars : of_undecayed));
  with_factor(device, o.factor, false, kernels);
}
/// Applies one step to all parameters, for the optimizers that Backend::lacks_of allows.
template <typename T, typename Device>
void update(Device& device, Replays<Device>& replays, Updates parameters, const OptimizerStep& o) {
  switch (o.optimizer) {
    case Optimizer::adam:
      return optimize<T, AdamW>(device, replays, parameters, o);
    case Optimizer::momentum:
    case Optimizer::sgd:
      return optimize<T, Descent>(device, replays, parameters, o);
    default:
      throw std::logic_error("an optimizer rejected by lacks_of()");
  }
}

/// See Backend::clip; runs on one thread.
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

/// The sum of squares of every gradient, added up from sums over its segments. `room`: bytes of shared memory for a
/// block's sum.
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
  const DeviceWorkspace<Device, FloatArray> there(device, arrays);
  const DeviceWorkspace<Device, Count> at(device, begins);
  const DeviceWorkspace<Device, double> parts(device, begins.back());
  const Stretches all{at.data(), static_cast<Count>(arrays.size())};
  packed ? device.launch(SquareSums<4>{there.data(), all, stretch, parts.data()}, begins.back(), threads, room)
         : device.launch(SquareSums<1>{there.data(), all, stretch, parts.data()}, begins.back(), threads, room);
  device.launch(ArraySums{all, parts.data(), sums}, all.arrays, threads, room);
}

}  // namespace llmcalc::model::cuda
