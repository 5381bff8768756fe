#pragma once
/// Sets of layers.

#include <array>
#include <bit>
#include <cstdint>

#include "calc/units.hpp"

namespace llmcalc {

inline constexpr Count max_layers = 1024;

/// A set of layer indices, stored in place, such as the layers with experts or with linear attention.
class LayerSet {
 public:
  constexpr void insert(Count layer) { word(layer) |= bit(layer); }
  constexpr bool contains(Count layer) const { return (bits_[static_cast<std::size_t>(layer) / 64] & bit(layer)) != 0; }
  constexpr Count size() const {
    Count n = 0;
    for (const std::uint64_t w : bits_) n += std::popcount(w);
    return n;
  }
  /// Number of indices below `layer`.
  constexpr Count below(Count layer) const {
    Count n = 0;
    const std::size_t full = static_cast<std::size_t>(layer) / 64;
    for (std::size_t i = 0; i < full; ++i)
      if (bits_[i] != 0) n += std::popcount(bits_[i]);
    if (layer % 64 != 0) n += std::popcount(bits_[full] & (bit(layer) - 1));
    return n;
  }
  constexpr bool empty() const {
    for (const std::uint64_t w : bits_)
      if (w != 0) return false;
    return true;
  }
  /// Highest index; -1 if the set is empty. first() is the lowest.
  constexpr Count last() const {
    for (std::size_t i = bits_.size(); i-- > 0;)
      if (bits_[i] != 0) return static_cast<Count>(64 * i + 63) - std::countl_zero(bits_[i]);
    return -1;
  }
  /// Highest index below `layer`; -1 if there is none.
  constexpr Count last_below(Count layer) const {
    while (layer > 0 && !contains(layer - 1)) --layer;
    return layer - 1;
  }
  constexpr Count first() const {
    for (std::size_t i = 0; i < bits_.size(); ++i)
      if (bits_[i] != 0) return static_cast<Count>(64 * i) + std::countr_zero(bits_[i]);
    return -1;
  }
  /// The indices that are also in `other` (keep = true), or those that are not (keep = false).
  constexpr LayerSet filtered(const LayerSet& other, bool keep) const {
    LayerSet s;
    for (std::size_t i = 0; i < bits_.size(); ++i) s.bits_[i] = bits_[i] & (keep ? other.bits_[i] : ~other.bits_[i]);
    return s;
  }
  /// Every `step`-th layer in [first, layers).
  static constexpr LayerSet every(Count first, Count step, Count layers) {
    LayerSet s;
    for (Count i = first; i < layers; i += step) s.insert(i);
    return s;
  }
  static constexpr LayerSet all(Count layers) {
    LayerSet s;
    for (std::size_t i = 0; i < s.bits_.size() && layers > 0; ++i, layers -= 64)
      s.bits_[i] = layers >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << layers) - 1;
    return s;
  }
  constexpr bool operator==(const LayerSet&) const = default;

 private:
  static constexpr std::uint64_t bit(Count layer) {
    return std::uint64_t{1} << (static_cast<std::uint64_t>(layer) % 64);
  }
  constexpr std::uint64_t& word(Count layer) { return bits_[static_cast<std::size_t>(layer) / 64]; }
  std::array<std::uint64_t, max_layers / 64> bits_{};
};

}  // namespace llmcalc
