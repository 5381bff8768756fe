#pragma once
/// One step of an optimizer: its settings, and what it reads and writes of each parameter.

#include <cstdint>
#include <span>

#include "calc/units.hpp"

namespace llmcalc::model {

struct AdamW {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0;
  Count step = 1;                  ///< counts from 1: bias correction
  const double* factor = nullptr;  ///< see Backend::multiply_by; already applied to the gradient
};
struct Momentum {
  double rate = 1e-2, momentum = 0.9, decay = 0;
  const double* factor = nullptr;  ///< as AdamW's
};

/// Lion (arXiv:2302.06675): w -= rate (sign(beta1 m + (1 - beta1) g) + decay w), then m = beta2 m + (1 - beta2) g.
struct Lion {
  double rate = 1e-4, beta1 = 0.9, beta2 = 0.99, decay = 0;
  const double* factor = nullptr;  ///< as AdamW's
};
/// Adafactor (arXiv:1804.04235, algorithms 4 and 5) without momentum, at a rate of its own: the second moment of a
/// matrix is the product of its rows' and columns' means.
struct Adafactor {
  double rate = 1e-3, decay = 0;
  Count step = 1;
  const double* factor = nullptr;  ///< as AdamW's
};
/// Muon (calc/muon.hpp): the momentum of a matrix, made orthogonal; of all else AdamW.
struct Muon {
  double rate = 2e-2, momentum = 0.95, decay = 0;
  Count iterations = 5;
  AdamW others = {};
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
