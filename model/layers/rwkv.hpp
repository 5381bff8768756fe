#pragma once
/// Operators that only RWKV has, in addition to its state (RWKV-7: arXiv:2503.14456; fla-org/flash-linear-attention,
/// layers/rwkv7.py. RWKV-5 and -6: arXiv:2404.05892). Learned vectors are as wide as a row.

#include "calc/operator/op.hpp"
#include "model/pass/gradient_place.hpp"
#include "model/pass/state.hpp"

namespace llmcalc::model {

/// Tensors of RWKV-7's bonus operator, and their gradients; the gradient of `shares` is wide.
struct BonusView {
  const void *o = nullptr, *r = nullptr, *k = nullptr, *v = nullptr, *gate = nullptr, *shares = nullptr;
};
struct BonusGradients {
  GradientPlace o, r, k, v, gate;
  void* shares = nullptr;
};

/// One method per operator and one for its gradient; see Backend.
class RwkvKernels {
 public:
  virtual ~RwkvKernels() = default;
  /// y: `mixes` token shifts, side by side. dmoves: used only if the view has moves.
  virtual void shift(const Shift&, const ShiftView&, void* y) = 0;
  virtual void shift_gradient(const Shift&, const ShiftView&, const void* dy, GradientPlace dx, GradientPlace dmoves,
                              void* dshares) = 0;
  /// y = a + (b - a) sigmoid(c)
  virtual void blend(const Pointwise&, const void* a, const void* b, const void* c, void* y) = 0;
  virtual void blend_gradient(const Pointwise&, const void* a, const void* b, const void* c, const void* dy,
                              GradientPlace da, GradientPlace db, GradientPlace dc) = 0;
  /// y = k (1 + (sigmoid(rate) - 1) w) with learned w.
  virtual void gate_key(const Pointwise&, const void* rate, const void* k, const void* w, void* y) = 0;
  virtual void gate_key_gradient(const Pointwise&, const void* rate, const void* k, const void* w, const void* dy,
                                 GradientPlace drate, GradientPlace dk, void* dw) = 0;
  /// y = x w / |x w| per head, with w learned per head; `inverse`: wide, 1 / |x w| per row; may be null.
  virtual void unit(const Norm&, const void* x, const void* w, void* y, void* inverse) = 0;
  virtual void unit_gradient(const Norm&, const void* x, const void* w, const void* inverse, const void* dy,
                             GradientPlace dx, void* dw) = 0;
  /// y = (o + v <r, k>) gate, with an inner product per head of `head` elements, weighted by learned shares.
  virtual void bonus(const Pointwise&, Count head, const BonusView&, void* y) = 0;
  virtual void bonus_gradient(const Pointwise&, Count head, const BonusView&, const void* dy,
                              const BonusGradients&) = 0;
  /// y = sigmoid(x)
  virtual void sigmoid(const Pointwise&, const void* x, void* y) = 0;
  virtual void sigmoid_gradient(const Pointwise&, const void* x, const void* dy, GradientPlace dx) = 0;
};

}  // namespace llmcalc::model
