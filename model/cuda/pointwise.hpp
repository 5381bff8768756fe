#pragma once
/// Element-wise operators and optimizers: kernels of one line each.

#include <algorithm>
#include <cmath>

#include "model/backend.hpp"
#include "model/cuda/attention.hpp"
#include "model/cuda/thread.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::cuda {

/// f(i) for every i below count, on all of the device.
template <typename Device, typename F>
void everywhere(Device& device, Count count, F f) {
  if (count == 0) return;
  constexpr Count most_blocks = 132 * 16;
  device.launch(Everywhere<F>{count, f}, std::min((count + 255) / 256, most_blocks), 256, 0);
}

template <typename Device, typename T>
void sum(Device& device, Count count, const T* a, const T* b, T* y) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) { y[i] = static_cast<T>(wide(a[i]) + wide(b[i])); });
}
template <typename Device, typename T>
void multiply(Device& device, Count count, const T* a, const T* b, T* y) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) { y[i] = static_cast<T>(wide(a[i]) * wide(b[i])); });
}
template <typename Device, typename T>
void multiply_gradient(Device& device, Count count, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db,
                       bool add_b) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) {
    const auto d = wide(dy[i]), left = wide(a[i]), right = wide(b[i]);
    put(da + i, d * right, add_a), put(db + i, d * left, add_b);
  });
}
/// y = a sigmoid(g), one g per row.
template <typename Device, typename T>
void scale(Device& device, Count rows, Count width, const T* a, const T* g, T* y) {
  everywhere(device, rows * width,
             [=] LLMCALC_DEVICE(Count i) { y[i] = static_cast<T>(wide(a[i]) * sigmoid(wide(g[i / width]))); });
}

template <typename F, typename Device, typename T>
void activate(Device& device, Count count, const T* x, T* y) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) { y[i] = static_cast<T>(F::value(wide(x[i]))); });
}
template <typename F, typename Device, typename T>
void activate_gradient(Device& device, Count count, const T* x, const T* dy, T* dx, bool add) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) { put(dx + i, wide(dy[i]) * F::slope(wide(x[i])), add); });
}
template <typename F, typename Device, typename T>
void gate(Device& device, Count count, const T* a, const T* b, T* y) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) { y[i] = static_cast<T>(F::value(wide(a[i])) * wide(b[i])); });
}
template <typename F, typename Device, typename T>
void gate_gradient(Device& device, Count count, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db,
                   bool add_b) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) {
    const auto d = wide(dy[i]), left = wide(a[i]), right = wide(b[i]);
    put(da + i, d * right * F::slope(left), add_a), put(db + i, d * F::value(left), add_b);
  });
}

template <typename Device, typename T>
void dropout(Device& device, Count count, const Dropout& d, T* x, std::uint8_t* mask) {
  everywhere(device, count, [=] LLMCALC_DEVICE(Count i) {
    const float factor = dice(d, i);
    x[i] = static_cast<T>(wide(x[i]) * factor);
    if (mask != nullptr) mask[i] = factor > 0.0f ? 1 : 0;
  });
}
template <typename Device, typename T>
void dropout_gradient(Device& device, Count count, const Dropout& d, const std::uint8_t* mask, T* dx) {
  const float keep = static_cast<float>(1 / (1 - d.p));
  everywhere(device, count,
             [=] LLMCALC_DEVICE(Count i) { dx[i] = static_cast<T>(wide(dx[i]) * keep * static_cast<float>(mask[i])); });
}

/// (softmax - onehot) f in place of log-softmax.
template <typename Device>
void loss_gradient(Device& device, const Loss& s, const std::int64_t* targets, float f, float* x) {
  everywhere(device, mul(s.rows, s.vocabulary), [=, vocabulary = s.vocabulary] LLMCALC_DEVICE(Count i) {
    const float p = exp_of(x[i]) * f;
    x[i] = i % vocabulary == targets[i / vocabulary] ? p - f : p;
  });
}

/// y += b in every row; y in numbers of its own.
template <typename Device, typename T, typename Y>
void add_bias(Device& device, Count rows, Count width, const T* bias, Y* y) {
  everywhere(device, rows * width,
             [=] LLMCALC_DEVICE(Count i) { y[i] = static_cast<Y>(wide(y[i]) + wide(bias[i % width])); });
}
/// db += the sum of the rows of dy, in order.
template <typename Device, typename T>
void bias_gradient(Device& device, Count rows, Count width, const T* dy, Count stride, float* db) {
  everywhere(device, width, [=] LLMCALC_DEVICE(Count i) {
    float all = 0;
    for (Count r = 0; r < rows; ++r) all += wide(dy[r * stride + i]);
    db[i] += all;
  });
}

}  // namespace llmcalc::model::cuda
