#pragma once
/// Activations and their derivatives: one number in, one out.

#include "calc/arch.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model {

template <typename W>
LLMCALC_HD W sigmoid(W x) {
  return reciprocal_of(W(1) + exp_of(-x));
}

/// max(0, x)
struct Relu {
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return x > W(0) ? x : W(0);
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    return x > W(0) ? W(1) : W(0);
  }
};

/// max(0, x)^2 (So et al. 2021, arXiv:2109.08668)
struct ReluSquared {
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return x > W(0) ? x * x : W(0);
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    return x > W(0) ? W(2) * x : W(0);
  }
};

/// x Phi(x) with the normal distribution Phi (Hendrycks, Gimpel 2016, arXiv:1606.08415)
struct Gelu {
  template <typename W>
  LLMCALC_HD static W below(W x) {
    return W(0.5) * (W(1) + erf_of(x * W(0.70710678118654752)));
  }
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return x * below(x);
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    return below(x) + x * W(0.39894228040143268) * exp_of(W(-0.5) * x * x);
  }
};

/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, the same paper's approximation
struct GeluTanh {
  template <typename W>
  LLMCALC_HD static W inner(W x) {
    return tanh_of(W(0.79788456080286536) * (x + W(0.044715) * x * x * x));
  }
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return W(0.5) * x * (W(1) + inner(x));
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    const W t = inner(x);
    const W du = W(0.79788456080286536) * (W(1) + W(3 * 0.044715) * x * x);
    return W(0.5) * (W(1) + t) + W(0.5) * x * (W(1) - t * t) * du;
  }
};

/// x sigmoid(x)
struct Silu {
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return x * sigmoid(x);
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    const W s = sigmoid(x);
    return s * (W(1) + x * (W(1) - s));
  }
};

/// f(an instance of the activation's struct).
template <typename F>
void with_activation(Activation a, F f) {
  switch (a) {
    case Activation::relu:
      return f(Relu());
    case Activation::relu_squared:
      return f(ReluSquared());
    case Activation::gelu:
      return f(Gelu());
    case Activation::gelu_tanh:
      return f(GeluTanh());
    case Activation::silu:
    case Activation::xielu:  // refused before a model is made
      return f(Silu());
  }
}

}  // namespace llmcalc::model
