#pragma once
/// Vision and audio encoders, which turn images or sound into input rows of a text model.

#include <optional>

#include "calc/units.hpp"

namespace llmcalc {

/// Parameters of each part as stored in a checkpoint; 0: absent. A merger inside an encoder's module counts as part
/// of the encoder. The projector is between the encoder and the text model. `cross`: layers or experts of the text
/// model that only read images and are skipped if there is no image (Llama 3.2, ERNIE 4.5 VL).
struct MediaEncoders {
  Count vision = 0, audio = 0, projector = 0, cross = 0;
  std::optional<Bytes> held{};  ///< bytes of a checkpoint's tensors; absent: no tensors were read

  constexpr Count total() const { return add(add(vision, audio), add(projector, cross)); }
  /// Bytes in memory. Encoders use 16 bits per parameter even in quantized checkpoints.
  constexpr Bytes bytes() const { return held.value_or(Bytes(mul(2, total()))); }
  /// The part of bytes() that is sharded across tensor-parallel ranks, namely the `cross` layers. Their share of
  /// `held` is proportional to their parameters.
  constexpr Bytes cut_bytes() const {
    return cross == 0 ? Bytes() : held ? Bytes(held->value / total() * cross) : Bytes(mul(2, cross));
  }
  constexpr bool operator==(const MediaEncoders&) const = default;
};

}  // namespace llmcalc
