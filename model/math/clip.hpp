#pragma once
/// Clipping of a gradient by its norm (Pascanu et al. 2013, arXiv:1211.5063).

#include <cmath>
#include <cstddef>
#include <limits>

#include "model/math/host_device.hpp"

namespace llmcalc::model {

struct Clip {
  double norm, factor;
};

/// The norm and the clipping factor of Backend::clip.
LLMCALC_HD inline Clip clip_of(const double* losses, std::size_t batches, const double* squares, std::size_t n,
                               double most) {
  double square = 0, loss = 0;
  for (std::size_t i = 0; i < n; ++i) square += squares[i];
  for (std::size_t i = 0; i < batches; ++i) loss += losses[i];
  const double norm = std::sqrt(square);
  if (!std::isfinite(loss) || !std::isfinite(norm)) return {norm, std::numeric_limits<double>::quiet_NaN()};
  return {norm, most > 0 && norm > most ? most / norm : 1};
}

/// Whether an update may run with this clipping factor: true if it is null (no clipping) or finite.
LLMCALC_HD inline bool is_factor(const double* factor) { return factor == nullptr || std::isfinite(*factor); }

}  // namespace llmcalc::model
