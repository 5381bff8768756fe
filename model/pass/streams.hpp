#pragma once
/// Inputs of the operators of hyper-connections, which gather one input from n residual streams and spread a result
/// over them. Of a token's streams x (n, D) a matrix makes the numbers m; with r = 1 / sqrt(mean of x^2 + epsilon), a
/// learned scale s for each part and a learned bias, z = s r m + bias are
///
///   n       gather: sigmoid(z) + 1e-6 of each stream
///   n       spread: 2 sigmoid(z), each stream's share of the result
///   n x n   spread: what stream i gives to stream j, Balanced(z) (model/math/streams.hpp)
///
/// The head has the first part alone.

#include "calc/units.hpp"

namespace llmcalc::model {

struct StreamView {
  const void* x = nullptr;
  Count x_stride = 0;             ///< numbers from token to token of x
  const void* weights = nullptr;  ///< m (tokens, columns)
  Count columns = 0;              ///< n, or n (n + 2)
  const void *scales = nullptr, *bias = nullptr;
  double epsilon = 1e-5;  ///< of the norm of x
};

/// Destinations of the gradients; those of scales and bias are wide, and added to.
struct StreamGradients {
  void* x = nullptr;
  bool add_x = false;
  void* weights = nullptr;  ///< without add_weights the columns of other parts become zero
  bool add_weights = false;
  void* result = nullptr;  ///< spread: of the sub-layer's result
  bool add_result = false;
  void *scales = nullptr, *bias = nullptr;
};

}  // namespace llmcalc::model
