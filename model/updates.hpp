#pragma once
/// One step of an optimizer: its settings, and what it reads and writes of each parameter.

#include <cstdint>
#include <span>

#include "calc/training/optimizer.hpp"
#include "calc/units.hpp"

namespace llmcalc::model {

/// A step of an optimizer. Each reads its own settings:
///   adam, adam8bit: rate, beta1, beta2, epsilon, decay, step (arXiv:1711.05101);
///   momentum, sgd: rate, momentum, decay;
///   lion (arXiv:2302.06675): w -= rate (sign(beta1 m + (1 - beta1) g) + decay w), then m = beta2 m + (1 - beta2) g;
///   adafactor (arXiv:1804.04235, algorithms 4 and 5; no momentum, rate given): rate, decay, step; the second moment of
///   a matrix is the product of the means of its rows and columns;
///   muon (calc/training/muon.hpp): momentum of a matrix, orthogonalized; of all else AdamW.
struct OptimizerStep {
  Optimizer optimizer = Optimizer::adam;
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0, momentum = 0.9;
  Count step = 1;                  ///< counts from 1: bias correction
  Count iterations = 5;            ///< of Newton-Schulz
  const double* factor = nullptr;  ///< see Backend::multiply_by; already applied to the gradient
  /// adam8bit: of all parameters in a row, codes of the first moments, codes of the second ones, and float32 scales of
  /// both, each of coded_block numbers (arXiv:2110.02861).
  void* coded = nullptr;
};

/// Numbers that moments and velocities are stored in.
enum class StateFormat : std::uint8_t { wide, bf16, fp16 };

/// A parameter of n numbers, and what an optimizer reads and writes of it.
struct ParameterUpdate {
  Count n = 0;
  void *gradient = nullptr, *weight = nullptr;
  void* master = nullptr;  ///< exact weights, of which `weight` is the rounded copy; null: there are none
  void* first = nullptr;   ///< the first moment, or the velocity
  void* second = nullptr;  ///< the second moment
  bool decays = true;      ///< the optimizer's decay applies
  /// Matrices (out, in), each updated as one by Adafactor, whose states are its rows' and its columns', or Muon; out 0:
  /// it is not.
  Count groups = 1, out = 0, in = 0;
  StateFormat states = StateFormat::wide;  ///< of first and second
};
using Updates = std::span<const ParameterUpdate>;

}  // namespace llmcalc::model
