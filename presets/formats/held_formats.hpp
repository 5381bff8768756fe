#pragma once
/// Formats of components of which tensor after tensor is known.

#include <array>
#include <map>

#include "calc/arch.hpp"
#include "calc/formats/weight_formats.hpp"

namespace llmcalc {

/// The tensors of one component: numbers by format, and bytes.
struct HeldTensors {
  std::map<std::size_t, Count> numbers;  ///< by row of `formats`
  Bytes bytes{};
};

class HeldComponents {
 public:
  HeldTensors& operator[](Component c) { return by_[static_cast<std::size_t>(c)]; }
  const HeldTensors& operator[](Component c) const { return by_[static_cast<std::size_t>(c)]; }
  /// Adds numbers in a format.
  void add_numbers(Component c, DType t, Count n);

 private:
  std::array<HeldTensors, component_count> by_{};
};

/// Of every component the format of most of its numbers; of one without tensors that of most components. A tied head
/// has the token table's.
WeightFormats most_common_formats(const HeldComponents& all, const Arch& arch);

/// Says of every component of `weights` what is held, unless its format alone says the same.
void hold_bytes(WeightFormats& weights, const Arch& arch, const HeldComponents& all, Owner owner = Owner::model);

/// Where nothing says what a model's modules (Mtp) hold: of each component the share that the model holds.
void hold_modules_alike(WeightFormats& weights, const Arch& arch);

/// Bytes of the weights by component, of the model or of all of its modules (Mtp), all on one device, vectors that a
/// format leaves out in bf16; of components whose bytes a checkpoint states, those that they have in the format.
ComponentBytes component_bytes(const Arch& arch, const WeightFormats& weights, Owner owner = Owner::model);

/// Those that a checkpoint holds.
ComponentBytes held_bytes(const Arch& arch, const WeightFormats& weights, Owner owner);

/// Parameters by component: bytes in a format of one byte.
ComponentBytes component_numbers(const Arch& arch, Owner owner = Owner::model);

}  // namespace llmcalc
