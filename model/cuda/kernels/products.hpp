#pragma once
/// Matmuls on a device, with one matrix for all rows, one per expert or one per head; and their gradients.

#include "model/cpu/products/matmul_shape.hpp"
#include "model/cuda/fast/matvec.hpp"
#include "model/cuda/fast/replay.hpp"
#include "model/cuda/kernels/column_sums.hpp"
#include "model/cuda/kernels/experts.hpp"
#include "model/cuda/kernels/pointwise.hpp"

namespace llmcalc::model::cuda {

template <typename T, typename Device>
class Products {
  using W = float;
  static const T* n(In p) { return static_cast<const T*>(p); }
  static T* n(Out p) { return static_cast<T*>(p); }
  static const W* w(In p) { return static_cast<const W*>(p); }
  static W* w(Out p) { return static_cast<W*>(p); }

 public:
  Products(Device& device, Replays<Device>& replays, Routings<Device>& routings)
      : device_(device), replays_(replays), routings_(routings) {}

  void linear(const Linear& s, const LinearView& v, Out y) {
    const Count stride = v.x_stride > 0 ? v.x_stride : s.in;
    if (v.head_rows > 0) return per_head(s, v, n(v.x), n(v.weight), n(y));
    if (s.top_k > 0) return routed(s, v, y);
    dense({s.rows, s.in, s.out, stride, n(v.x), n(v.weight), n(v.bias), y, v.wide_output});
  }
  void gradient(const Linear& s, const LinearView& v, In dy, Out dx, bool add, Out dw, Out db) {
    if (s.top_k > 0) return routed_gradient(s, v, dy, dx, add, dw, db);
    Count stride = s.out;
    if (v.wide_output)
      stride *= static_cast<Count>(sizeof(W) / sizeof(T));  // loss_gradient wrote rows with the stride of wide rows
    dense_gradient(s, s.rows, n(v.x), n(v.weight), n(dy), stride, n(dx), add, w(dw), v.add_weight_gradient, w(db));
  }

 private:
  /// `timed` and `bias`: see GpuDevice::matmul; experts' matmuls are not timed, since their row counts differ in every
  /// step. Returns whether the bias was added.
  bool product(const MatmulShape& s, In a, In b, Out c, bool wide_output, bool timed = true, In bias = nullptr) {
    if (s.m == 0 || s.n == 0 || s.k == 0) return false;
    const bool with_bias = device_.matmul(s, sizeof(T) == 2, wide_output || sizeof(T) == 4, a, b, c, timed, bias);
    replays_.count(flops(2, s.m, s.n, s.k));
    return with_bias;
  }
  /// The matmul itself can add the bias only if it has y's format.
  void dense(const FewRows<T>& a, bool timed = true) {
    if (a.can()) {
      a.run(device_);
      return replays_.count(flops(2, a.rows, a.out, a.in));
    }
    const bool wider = a.wide_output && sizeof(W) > sizeof(T);
    const bool with_bias = product({a.rows, a.out, a.in, false, true, false, a.x_stride, a.in, a.out}, a.x, a.weight,
                                   a.y, a.wide_output, timed, wider ? nullptr : a.bias);
    if (a.bias == nullptr || with_bias) return;
    a.wide_output ? add_bias(device_, a.rows, a.out, a.bias, w(a.y)) : add_bias(device_, a.rows, a.out, a.bias, n(a.y));
  }
  /// With 0 rows, dw is 0, which must still be written unless `add_dw` is set.
  void dense_gradient(const Linear& s, Count rows, const T* x, const T* weight, const T* dy, Count stride, T* dx,
                      bool add, W* dw, bool add_dw, W* db) {
    if (rows == 0 && !add_dw) device_.fill(dw, 0, mul(s.out, s.in, static_cast<Count>(sizeof(W))));
    if (rows == 0) return;
    const bool timed = s.top_k == 0;
    product({rows, s.in, s.out, false, false, add, stride, s.in, s.in}, dy, weight, dx, false, timed);
    product({s.out, s.in, rows, true, false, add_dw, stride, s.in, s.in}, dy, x, dw, true, timed);
    if (db != nullptr) bias_gradient(device_, rows, s.out, dy, stride, db);
  }
  void routed(const Linear& s, const LinearView& v, Out y) {
    const auto r = routings_.of(v.choice, s.rows / s.top_k, s.groups, s.top_k, n(v.choice));
    r->each_expert([&](Count e, Count first, Count rows) {
      const T* const bias = v.bias != nullptr ? n(v.bias) + e * s.out : nullptr;
      dense({rows, s.in, s.out, s.in, n(v.x) + first * s.in, n(v.weight) + e * s.out * s.in, bias, n(y) + first * s.out,
             false},
            false);
    });
  }
  void routed_gradient(const Linear& s, const LinearView& v, In dy, Out dx, bool add, Out dw, Out db) {
    const Count tokens = s.rows / s.top_k;
    const auto r = routings_.of(v.choice, tokens, s.groups, s.top_k, w(v.choice) + tokens * s.groups);
    r->each_expert([&](Count e, Count first, Count rows) {
      dense_gradient(s, rows, n(v.x) + first * s.in, n(v.weight) + e * s.out * s.in, n(dy) + first * s.out, s.out,
                     n(dx) + first * s.in, add, w(dw) + e * s.out * s.in, v.add_weight_gradient,
                     db != nullptr ? w(db) + e * s.out : nullptr);
    });
  }
  /// Absorbed projections of latent attention: each head multiplies its part of x by its rows of the up-projection.
  void per_head(const Linear& s, const LinearView& v, const T* x, const T* weight, T* y) {
    const Count heads = s.groups, tokens = s.rows / heads, width = v.transposed ? s.out : s.in;
    for (Count h = 0; h < heads; ++h)
      product({tokens, s.out, s.in, false, !v.transposed, false, v.x_stride, width, heads * v.y_head}, x + h * v.x_head,
              weight + (h * v.head_rows + v.weight_offset) * width, y + h * v.y_head, false);
  }

  Device& device_;
  Replays<Device>& replays_;
  Routings<Device>& routings_;
};

}  // namespace llmcalc::model::cuda
