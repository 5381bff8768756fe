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

class WeightFormats {
 public:
  /// One format for every component; implicit.
  constexpr WeightFormats(DType all = dtypes::bf16) { by_.fill(all); }
  constexpr DType operator[](Component c) const { return by_[static_cast<std::size_t>(c)]; }
  constexpr DType& operator[](Component c) { return by_[static_cast<std::size_t>(c)]; }
  constexpr bool uniform() const { return *this == WeightFormats(by_[0]); }
  /// Whether no component's format has groups, so that training can store weights in it.
  constexpr bool plain() const {
    return std::all_of(by_.begin(), by_.end(), [](DType t) { return t.plain(); });
  }
  constexpr bool operator==(const WeightFormats&) const = default;

 private:
  std::array<DType, component_count> by_{};
};

}  // namespace llmcalc
