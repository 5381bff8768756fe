#pragma once
/// Scalar activations and their derivatives.

#include "calc/arch.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model {

template <typename W>
LLMCALC_HD W sigmoid(W x) {
  return reciprocal_of(W(1) + exp_of(-x));
}

/// log(1 + e^x), with slope sigmoid(x).
template <typename W>
LLMCALC_HD W softplus(W x) {
  return x > W(0) ? x + log1p_of(exp_of(-x)) : log1p_of(exp_of(x));
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

/// tanh(x), used only by an encoder's pooler
struct Tanh {
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return tanh_of(x);
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    const W y = tanh_of(x);
    return W(1) - y * y;
  }
};

/// 1 / (1 + e^-x), used only by RWKV-7's gates
struct Sigmoid {
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return sigmoid(x);
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    const W y = sigmoid(x);
    return y * (W(1) - y);
  }
};

/// x Phi(x) with the normal CDF Phi (Hendrycks, Gimpel 2016, arXiv:1606.08415)
struct Gelu {
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return x * normal_of(x).below;
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    const auto [below, exponential] = normal_of(x);
    return below + x * W(0.39894228040143268) * exponential;
  }
};

/// x (1 + tanh(u)) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3), the same paper's approximation. (1 + tanh(u)) / 2
/// equals sigmoid(2 u).
struct GeluTanh {
  static constexpr double rise = 1.5957691216057308;  ///< 2 sqrt(2/pi)
  template <typename W>
  LLMCALC_HD static W below(W x) {
    return sigmoid(x * (W(rise) + W(rise * 0.044715) * x * x));
  }
  template <typename W>
  LLMCALC_HD static W value(W x) {
    return x * below(x);
  }
  template <typename W>
  LLMCALC_HD static W slope(W x) {
    const W s = below(x);
    return s + x * s * (W(1) - s) * (W(rise) + W(3 * rise * 0.044715) * x * x);
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

/// xIELU (arXiv:2411.13010): p x^2 + x / 2 above 0, n (e^x - 1 - x) + x / 2 below, with p = softplus of the first
/// learned parameter and n = 1/2 + softplus of the second (hf activations.py, XIELUActivation).
template <typename W>
struct Xielu {
  W up, down;
  LLMCALC_HD Xielu(W first, W second) : up(softplus(first)), down(W(0.5) + softplus(second)) {}
  /// Derivatives with respect to p and n.
  LLMCALC_HD static W by_up(W x) { return x > W(0) ? x * x : W(0); }
  LLMCALC_HD static W by_down(W x) { return x > W(0) ? W(0) : exp_of(x) - W(1) - x; }
  LLMCALC_HD W value(W x) const { return up * by_up(x) + down * by_down(x) + W(0.5) * x; }
  LLMCALC_HD W slope(W x) const { return (x > W(0) ? W(2) * up * x : down * (exp_of(x) - W(1))) + W(0.5); }
};

/// Calls f with an instance of the activation's struct.
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
    case Activation::xielu:  // has learned parameters, and therefore separate functions
      return f(Silu());
  }
}

/// Value of an activation that is selected while a kernel runs.
template <typename W>
LLMCALC_HD W activated(Activation a, W x) {
  switch (a) {
    case Activation::relu:
      return Relu::value(x);
    case Activation::relu_squared:
      return ReluSquared::value(x);
    case Activation::gelu:
      return Gelu::value(x);
    case Activation::gelu_tanh:
      return GeluTanh::value(x);
    default:
      return Silu::value(x);
  }
}

}  // namespace llmcalc::model
