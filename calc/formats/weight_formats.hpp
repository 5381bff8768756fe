#pragma once
/// Number formats of a model's stored weights: one per component.

#include <algorithm>
#include <array>
#include <cstdint>

#include "calc/formats/dtype.hpp"

namespace llmcalc {

/// Component toward which an operator's weights count. The parameter table shows the MLP and its experts as one line.
enum class Component : std::uint8_t {
  embedding,
  position,
  attention,
  mlp,
  router,  ///< includes the gate of shared experts
  experts,
  shared_experts,
  norm,
  lm_head
};
inline constexpr std::size_t component_count = 9;

constexpr bool in_mlp(Component c) { return c >= Component::mlp && c <= Component::shared_experts; }
/// Whether the component's matrices are inside a block.
constexpr bool is_inside_block(Component c) { return c == Component::attention || in_mlp(c); }

/// Whether a recipe for a format with fewer than 16 bits runs this component's matmuls in this format.
constexpr bool is_low_precision(Component c) { return is_inside_block(c) && c != Component::router; }

/// Owner of the weights.
enum class Owner : std::uint8_t {
  model,
  modules  ///< MTP modules, excluding weights shared with the model
};
inline constexpr std::size_t owner_count = 2;

/// Bytes of a component with tensors in several formats. `held`: bytes in the checkpoint; `nominal`: bytes if all
/// tensors were in the component's format. A subset of the tensors is assigned a share of `held` in proportion to its
/// nominal bytes.
struct HeldBytes {
  Bytes held{}, nominal{};
  constexpr bool operator==(const HeldBytes&) const = default;
};

/// Bytes by component.
class ComponentBytes {
 public:
  constexpr Bytes operator[](Component c) const { return by_[static_cast<std::size_t>(c)]; }
  constexpr Bytes& operator[](Component c) { return by_[static_cast<std::size_t>(c)]; }

 private:
  std::array<Bytes, component_count> by_{};
};

class WeightFormats {
 public:
  /// One format for every component; implicit.
  constexpr WeightFormats(DType all = dtypes::bf16) { by_.fill(all); }
  constexpr DType operator[](Component c) const { return by_[static_cast<std::size_t>(c)]; }
  constexpr DType& operator[](Component c) { return by_[static_cast<std::size_t>(c)]; }
  /// Whether all components have the same format, regardless of a checkpoint's byte counts.
  constexpr bool uniform() const {
    return std::all_of(by_.begin(), by_.end(), [&](DType t) { return t == by_[0]; });
  }
  /// Whether training can store weights in every component's format, because none of the formats has groups.
  constexpr bool plain() const {
    return std::all_of(by_.begin(), by_.end(), [](DType t) { return t.plain(); });
  }
  constexpr bool operator==(const WeightFormats&) const = default;

  /// Sets the byte counts of a component in a checkpoint, for the model or for all of its MTP modules.
  constexpr void hold(Component c, const HeldBytes& h, Owner owner = Owner::model) { of(c, owner) = h; }
  constexpr const HeldBytes& held_of(Component c) const { return of(c, Owner::model); }
  /// Whether checkpoint byte counts are set for the component. If so, nominal bytes count all of its tensors in the
  /// component's format.
  constexpr bool is_held(Component c, Owner owner = Owner::model) const { return of(c, owner) != HeldBytes(); }
  constexpr bool any_held(Owner owner) const {
    const auto& all = held_[static_cast<std::size_t>(owner)];
    return std::any_of(all.begin(), all.end(), [](const HeldBytes& h) { return h != HeldBytes(); });
  }
  constexpr bool any_held() const { return any_held(Owner::model) || any_held(Owner::modules); }
  /// Bytes in the checkpoint of tensors with `nominal` bytes: their proportional share of the component's held bytes,
  /// rounded down. All tensors of a component together account for all of its held bytes; so does a component without
  /// counted tensors, such as rotary factors.
  constexpr Bytes held(Component c, Bytes nominal, Owner owner = Owner::model) const {
    if (!is_held(c, owner)) return nominal;
    const HeldBytes& all = of(c, owner);
    return all.nominal == Bytes() ? all.held : share_of(nominal, {all.held.value, all.nominal.value});
  }
  /// Ratio held / nominal.
  constexpr double held_ratio(Component c, Owner owner = Owner::model) const {
    const HeldBytes& all = of(c, owner);
    if (all.nominal == Bytes()) return 1;
    return static_cast<double>(all.held.value) / static_cast<double>(all.nominal.value);
  }
  /// The same formats without checkpoint byte counts.
  constexpr WeightFormats formats_alone() const {
    WeightFormats w = *this;
    w.held_ = {};
    return w;
  }

 private:
  constexpr const HeldBytes& of(Component c, Owner owner) const {
    return held_[static_cast<std::size_t>(owner)][static_cast<std::size_t>(c)];
  }
  constexpr HeldBytes& of(Component c, Owner owner) {
    return held_[static_cast<std::size_t>(owner)][static_cast<std::size_t>(c)];
  }

  std::array<DType, component_count> by_{};
  std::array<std::array<HeldBytes, component_count>, owner_count> held_{};
};

}  // namespace llmcalc
