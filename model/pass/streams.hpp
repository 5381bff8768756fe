#pragma once
/// Inputs of the operators of hyper-connections, which gather one input from n residual streams and spread a result
/// over them. A matrix computes the values m from a token's streams x (n, D). With r = 1 / sqrt(mean of x^2 + epsilon),
/// a learned scale s per part and a learned bias, z = s r m + bias yields
///
///   n       gather: the weight of each stream, sigmoid(z) + 1e-6
///   n       spread: each stream's share of the result, 2 sigmoid(z)
///   n x n   spread: the weight from stream i to stream j, Balanced(z) (model/math/streams.hpp)
///
/// The head has only the first part.

#include "calc/units.hpp"

namespace llmcalc::model {

struct StreamView {
  const void* x = nullptr;
  Count x_stride = 0;             ///< stride between tokens of x, in elements
  const void* weights = nullptr;  ///< m (tokens, columns)
  Count columns = 0;              ///< n, or n (n + 2)
  const void *scales = nullptr, *bias = nullptr;
  double epsilon = 1e-5;  ///< epsilon of the norm of x
};

/// Destinations of the gradients. Gradients of scales and bias are wide and accumulated.
struct StreamGradients {
  void* x = nullptr;
  bool add_x = false;
  void* weights = nullptr;  ///< gradient of m; without add_weights, the columns of other parts are zeroed
  bool add_weights = false;
  void* result = nullptr;  ///< spread: gradient of the sub-layer's result
  bool add_result = false;
  void *scales = nullptr, *bias = nullptr;
};

}  // namespace llmcalc::model
