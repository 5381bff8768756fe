#pragma once
/// Element-wise operators: kernels of one line each, over columns of elements.

#include "model/backend.hpp"
#include "model/cuda/kernels/attention.hpp"
#include "model/cuda/kernels/pack.hpp"
#include "model/math/activation.hpp"

namespace llmcalc::model::cuda {

template <typename Device, typename T>
void sum(Device& device, Count count, const T* a, const T* b, T* y) {
  over(
      device, count, [=] LLMCALC_DEVICE(Count, float l, float r, float& to) { to = l + r; }, reads(a), reads(b),
      writes(y));
}
template <typename Device, typename T>
void multiply(Device& device, Count count, const T* a, const T* b, T* y) {
  over(
      device, count, [=] LLMCALC_DEVICE(Count, float l, float r, float& to) { to = l * r; }, reads(a), reads(b),
      writes(y));
}
template <typename Device, typename T>
void multiply_gradient(Device& device, Count count, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db,
                       bool add_b) {
  const auto f = [=] LLMCALC_DEVICE(Count, float l, float r, float d, float& dl, float& dr) {
    dl += d * r;
    dr += d * l;
  };
  over(device, count, f, reads(a), reads(b), reads(dy), sums(da, add_a), sums(db, add_b));
}
/// y = a sigmoid(g), one g per row.
template <typename Device, typename T>
void scale(Device& device, Count rows, Count width, const T* a, const T* g, T* y) {
  over(
      device, rows * width, [=] LLMCALC_DEVICE(Count i, float x, float& to) { to = x * sigmoid(wide(g[i / width])); },
      reads(a), writes(y));
}

template <typename F, typename Device, typename T>
void activate(Device& device, Count count, const T* x, T* y) {
  over(
      device, count, [=] LLMCALC_DEVICE(Count, float v, float& to) { to = F::value(v); }, reads(x), writes(y));
}
template <typename F, typename Device, typename T>
void activate_gradient(Device& device, Count count, const T* x, const T* dy, T* dx, bool add) {
  over(
      device, count, [=] LLMCALC_DEVICE(Count, float v, float d, float& to) { to += d * F::slope(v); }, reads(x),
      reads(dy), sums(dx, add));
}
template <typename F, typename Device, typename T>
void gate(Device& device, Count count, const T* a, const T* b, T* y) {
  over(
      device, count, [=] LLMCALC_DEVICE(Count, float l, float r, float& to) { to = F::value(l) * r; }, reads(a),
      reads(b), writes(y));
}
template <typename F, typename Device, typename T>
void gate_gradient(Device& device, Count count, const T* a, const T* b, const T* dy, T* da, bool add_a, T* db,
                   bool add_b) {
  const auto f = [=] LLMCALC_DEVICE(Count, float l, float r, float d, float& dl, float& dr) {
    dl += d * r * F::slope(l);
    dr += d * F::value(l);
  };
  over(device, count, f, reads(a), reads(b), reads(dy), sums(da, add_a), sums(db, add_b));
}

template <typename Device, typename T>
void dropout(Device& device, Count count, const Dropout& d, T* x, std::uint8_t* mask) {
  const auto f = [=] LLMCALC_DEVICE(Count i, float& v, float& saved) {
    const float factor = dice(d, i);
    v *= factor;
    saved = factor > 0.0f ? 1.0f : 0.0f;
  };
  over(device, count, f, updates(x), writes(mask));
}
template <typename Device, typename T>
void dropout_gradient(Device& device, Count count, const Dropout& d, const std::uint8_t* mask, T* dx) {
  const float keep = static_cast<float>(1 / (1 - d.p));
  over(
      device, count, [=] LLMCALC_DEVICE(Count, float& v, float saved) { v = v * keep * saved; }, updates(dx),
      reads(mask));
}

/// y += b in every row; the formats of y and b may differ.
template <typename Device, typename T, typename Y>
void add_bias(Device& device, Count rows, Count width, const T* bias, Y* y) {
  over(
      device, rows * width, [=] LLMCALC_DEVICE(Count i, float& v) { v += wide(bias[i % width]); }, updates(y));
}

}  // namespace llmcalc::model::cuda
