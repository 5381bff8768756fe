#pragma once
/// In which number formats a model's weights are stored: one for each component.

#include <algorithm>
#include <array>
#include <cstdint>

#include "calc/dtype.hpp"

namespace llmcalc {

/// What an operator's weights belong to. The parameter table has one line for the MLP and its experts.
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

/// Is this a matrix of the blocks, which a recipe in fewer than 16 bits multiplies in them?
constexpr bool is_narrowed(Component c) { return c == Component::attention || (in_mlp(c) && c != Component::router); }

class WeightFormats {
 public:
  /// Every component in one format; implicit, so that a format stands for that.
  constexpr WeightFormats(DType all = dtypes::bf16) { by_.fill(all); }
  constexpr DType operator[](Component c) const { return by_[static_cast<std::size_t>(c)]; }
  constexpr DType& operator[](Component c) { return by_[static_cast<std::size_t>(c)]; }
  constexpr bool uniform() const { return *this == WeightFormats(by_[0]); }
  /// Whether no component has groups, so that training can store all of them so.
  constexpr bool plain() const {
    return std::all_of(by_.begin(), by_.end(), [](DType t) { return t.plain(); });
  }
  constexpr bool operator==(const WeightFormats&) const = default;

 private:
  std::array<DType, component_count> by_{};
};

}  // namespace llmcalc
