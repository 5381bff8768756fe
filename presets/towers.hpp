#pragma once
/// Towers beside a text model: what turns images or sounds into rows of its input.

#include <optional>

#include "calc/units.hpp"

namespace llmcalc {

/// Parameters of each part, as a checkpoint holds them; 0: there is none. A merger inside the tower's module counts
/// with the tower; the projector is what stands between the two; `cross` are layers of the text model, or experts in
/// them, that read images alone, and are skipped without one (Llama 3.2, ERNIE 4.5 VL).
struct Towers {
  Count vision = 0, audio = 0, projector = 0, cross = 0;
  std::optional<Bytes> held{};  ///< as a checkpoint's tensors are; absent: no tensors were read

  constexpr Count total() const { return add(add(vision, audio), add(projector, cross)); }
  /// Bytes in memory. Quantised checkpoints leave towers in 16 bits, too.
  constexpr Bytes bytes() const { return held.value_or(Bytes(mul(2, total()))); }
  /// Of them those that tensor-parallel ranks cut, which are in layers; of a checkpoint's tensors their share by
  /// number.
  constexpr Bytes cut_bytes() const {
    return cross == 0 ? Bytes() : held ? Bytes(held->value / total() * cross) : Bytes(mul(2, cross));
  }
  constexpr bool operator==(const Towers&) const = default;
};

}  // namespace llmcalc
