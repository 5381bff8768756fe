#pragma once
/// Number formats of a model's stored weights: one per component.

#include <algorithm>
#include <array>
#include <cstdint>

#include "calc/dtype.hpp"

namespace llmcalc {

/// The component that an operator's weights belong to. The parameter table has one line for the MLP and its experts.
enum class Component : std::uint8_t {
  embedding,
  position,
  attention,
  mlp,
  router,  ///< and the gate of shared experts
  experts,
  shared_experts,
  norm,
  lm_head
};
inline constexpr std::size_t component_count = 9;

constexpr bool in_mlp(Component c) { return c >= Component::mlp && c <= Component::shared_experts; }
/// Whether the component's matrices are those of a block.
constexpr bool is_inside_block(Component c) { return c == Component::attention || in_mlp(c); }

/// Whether a recipe in fewer than 16 bits multiplies this component's matrices in that format.
constexpr bool is_narrowed(Component c) { return is_inside_block(c) && c != Component::router; }

/// Bytes of a component of which not all tensors are in its format: `held` by a checkpoint, and the `nominal` ones that
/// they would take in the component's format. A part of them holds its share of the nominal bytes.
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
  /// Whether all components have one format, whatever bytes a checkpoint holds of them.
  constexpr bool uniform() const { return by_ == WeightFormats(by_[0]).by_; }
  /// Whether no component's format has groups, so that training can store weights in it.
  constexpr bool plain() const {
    return std::all_of(by_.begin(), by_.end(), [](DType t) { return t.plain(); });
  }
  constexpr bool operator==(const WeightFormats&) const = default;

  /// Says what a checkpoint holds of the component.
  constexpr void hold(Component c, const HeldBytes& h) { held_[static_cast<std::size_t>(c)] = h; }
  /// Whether a checkpoint says what it holds of the component. All of its tensors then count in its format.
  constexpr bool is_held(Component c) const { return of(c) != HeldBytes(); }
  constexpr bool any_held() const {
    return std::any_of(held_.begin(), held_.end(), [](const HeldBytes& h) { return h != HeldBytes(); });
  }
  /// The bytes that are held of tensors with `nominal` bytes: their share, rounded down; all bytes of the component for
  /// all of its tensors. A component without tensors of its own, such as rotary factors, is held whole.
  constexpr Bytes held(Component c, Bytes nominal) const {
    if (!is_held(c)) return nominal;
    return of(c).nominal == Bytes() ? of(c).held : share_of(nominal, {of(c).held.value, of(c).nominal.value});
  }
  /// held / nominal.
  constexpr double held_ratio(Component c) const {
    if (of(c).nominal == Bytes()) return 1;
    return static_cast<double>(of(c).held.value) / static_cast<double>(of(c).nominal.value);
  }
  /// The same formats without a checkpoint's bytes.
  constexpr WeightFormats formats_alone() const {
    WeightFormats w = *this;
    w.held_ = {};
    return w;
  }

 private:
  constexpr const HeldBytes& of(Component c) const { return held_[static_cast<std::size_t>(c)]; }

  std::array<DType, component_count> by_{};
  std::array<HeldBytes, component_count> held_{};
};

}  // namespace llmcalc
