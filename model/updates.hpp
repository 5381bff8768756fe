#pragma once
/// One step of an optimizer: its settings, and the data it reads and writes for each parameter.

#include <cstdint>
#include <span>

#include "calc/training/optimizer.hpp"
#include "calc/units.hpp"

namespace llmcalc::model {

/// A step of an optimizer. Each optimizer reads its own settings:
///   adam, adam8bit: rate, beta1, beta2, epsilon, decay, step (arXiv:1711.05101);
///   momentum, sgd: rate, momentum, decay;
///   lion (arXiv:2302.06675): w -= rate (sign(beta1 m + (1 - beta1) g) + decay w), then m = beta2 m + (1 - beta2) g;
///   adafactor (arXiv:1804.04235, algorithms 4 and 5; no momentum, no computed rate): rate, decay, step; a matrix's
///   second moment is the product of its row means and column means; muon (calc/training/muon.hpp): orthogonalized
///   momentum for matrices, AdamW for all other parameters.
struct OptimizerStep {
  Optimizer optimizer = Optimizer::adam;
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0, momentum = 0.9;
  Count step = 1;                  ///< number of the step, from 1 on; for bias correction
  Count iterations = 5;            ///< number of Newton-Schulz iterations
  const double* factor = nullptr;  ///< clipping factor, already applied to the gradient; NaN: the update is skipped
                                   ///< (see Backend::multiply_by)
  /// adam8bit: for all parameters in sequence, quantized first moments, quantized second moments, then float32 scales
  /// of both, one per coded_block values (arXiv:2110.02861).
  void* coded = nullptr;
};

/// Storage format of moments and velocities.
enum class StateFormat : std::uint8_t { wide, bf16, fp16 };

/// A parameter of n elements, and the data an optimizer reads and writes for it.
struct ParameterUpdate {
  Count n = 0;
  void *gradient = nullptr, *weight = nullptr;
  void* master = nullptr;  ///< exact weights; `weight` is a rounded copy; may be null
  void* first = nullptr;   ///< first moments, or velocities
  void* second = nullptr;  ///< second moments
  bool decays = true;      ///< whether weight decay applies
  /// Matrices (out, in), each updated as a whole by Muon, or by Adafactor with row and column states; out 0: updated
  /// element by element.
  Count groups = 1, out = 0, in = 0;
  StateFormat states = StateFormat::wide;  ///< format of `first` and `second`
};
using Updates = std::span<const ParameterUpdate>;

}  // namespace llmcalc::model
