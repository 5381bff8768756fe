#pragma once
/// Operators of alternating updates (calc/block/altup.hpp): a layer reads and writes the first of a token's n residual
/// streams x (n, D). Rows of streams have n D elements, rows of a result D.

#include "calc/operator/op.hpp"
#include "model/pass/gradient_place.hpp"

namespace llmcalc::model {

/// Lower bound of a projection's squared magnitude; a row's magnitude is its root mean square.
inline constexpr double least_magnitude_squared = 1e-5;

/// x: the first row to read; rows are x_stride apart.
struct StackView {
  const void* x = nullptr;
  Count x_stride = 0;
  const void* projected = nullptr;  ///< projections, (rows, (n - 1) D)
};

/// One method per operator and one for its gradient; see Backend.
class AltUpKernels {
 public:
  virtual ~AltUpKernels() = default;
  /// y: n streams, which are x and its n - 1 projections, rescaled to the magnitude of x.
  virtual void stack(const Pointwise&, const StackView&, void* y) = 0;
  virtual void stack_gradient(const Pointwise&, const StackView&, const void* dy, GradientPlace dx,
                              GradientPlace dprojected) = 0;
  /// y: the mean of the first stream of x and of projections of the other streams, rescaled to the first stream's
  /// magnitude. dx: gradient of these rows of x.
  virtual void merge(const Pointwise&, const StackView&, void* y) = 0;
  virtual void merge_gradient(const Pointwise&, const StackView&, const void* dy, GradientPlace dx,
                              GradientPlace dprojected) = 0;
  /// y_i = x_i + sum of c_ij x_j
  virtual void predict(const Pointwise&, const void* x, const void* c, void* y) = 0;
  virtual void predict_gradient(const Pointwise&, const void* x, const void* c, const void* dy, GradientPlace dx,
                                GradientPlace dc) = 0;
  /// y_i = p_i + (1 + k_i) (result - p_0)
  virtual void correct(const Pointwise&, const void* p, const void* result, const void* k, void* y) = 0;
  virtual void correct_gradient(const Pointwise&, const void* p, const void* result, const void* k, const void* dy,
                                GradientPlace dp, GradientPlace dresult, GradientPlace dk) = 0;
  /// Writes to `y` the first of the `streams` streams of `x`, plus `a` if `a` is not null.
  virtual void first(const Pointwise&, Count streams, const void* x, const void* a, void* y) = 0;
  /// Adds dy to the first stream of dx, which must exist.
  virtual void first_gradient(const Pointwise&, Count streams, const void* dy, void* dx) = 0;
  /// out: x with y added to all streams except the first. dy: gradient of y.
  virtual void share(const Pointwise&, const void* x, const void* y, void* out) = 0;
  virtual void share_gradient(const Pointwise&, const void* d_out, GradientPlace dy) = 0;
  /// y = x w, with a learned w per element.
  virtual void scale(const Pointwise&, const void* x, const void* w, void* y) = 0;
  virtual void scale_gradient(const Pointwise&, const void* x, const void* w, const void* dy, GradientPlace dx,
                              void* dw) = 0;
};

}  // namespace llmcalc::model
