#pragma once
/// Formats of components, derived from individual tensors.

#include <array>
#include <map>

#include "calc/arch.hpp"
#include "calc/formats/weight_formats.hpp"

namespace llmcalc {

/// The tensors of one component: element counts by format, and bytes.
struct HeldTensors {
  std::map<std::size_t, Count> numbers;  ///< number of elements by row of `formats`
  Bytes bytes{};
};

class HeldComponents {
 public:
  HeldTensors& operator[](Component c) { return by_[static_cast<std::size_t>(c)]; }
  const HeldTensors& operator[](Component c) const { return by_[static_cast<std::size_t>(c)]; }
  /// Adds `n` elements of format `t`.
  void add_numbers(Component c, DType t, Count n);

 private:
  std::array<HeldTensors, component_count> by_{};
};

/// The most common format among each component's elements. A component without tensors gets the most common format of
/// the other components. A tied head has the token embedding's format.
WeightFormats most_common_formats(const HeldComponents& all, const Arch& arch);

/// Records the stored bytes of each component in `weights` if they differ from the bytes implied by its format.
void hold_bytes(WeightFormats& weights, const Arch& arch, const HeldComponents& all, Owner owner = Owner::model);

/// Sets the bytes of MTP modules for which none are stated: each component gets the model's ratio of stored bytes to
/// those implied by the format.
void hold_modules_alike(WeightFormats& weights, const Arch& arch);

/// Weight bytes by component of the model, or of all its MTP modules, on one device. Vectors that a format does not
/// cover are in bf16. Stated checkpoint bytes are ignored in favor of the format.
ComponentBytes component_bytes(const Arch& arch, const WeightFormats& weights, Owner owner = Owner::model);

/// Weight bytes by component, as stored in the checkpoint.
ComponentBytes held_bytes(const Arch& arch, const WeightFormats& weights, Owner owner);

/// Parameter counts by component, computed as the bytes in a one-byte format.
ComponentBytes component_numbers(const Arch& arch, Owner owner = Owner::model);

}  // namespace llmcalc
