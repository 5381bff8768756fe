#pragma once
/// A list of integers, stored in parts of their bits from low to high. Upper parts that are equal in all integers
/// occupy no memory.

#include <climits>
#include <cstdint>
#include <tuple>

#include "serve/compact_column.hpp"
#include "serve/times/clock.hpp"

namespace llmcalc {

template <typename Value, typename... Parts>
class SplitColumn {
  static_assert((sizeof(Parts) + ...) == sizeof(Value));

 public:
  SplitColumn() = default;
  SplitColumn(std::size_t n, Value common) : parts_(CompactColumn<Parts>(n, Parts{})...) {
    split(common, [&](auto& part, auto bits) { part = {n, bits}; });
  }

  Value operator[](std::size_t i) const {
    Bits all = 0;
    int shift = 0;
    const auto join = [&](auto bits) {
      all |= static_cast<Bits>(bits) << shift;
      shift += CHAR_BIT * static_cast<int>(sizeof(bits));
    };
    std::apply([&](const auto&... part) { (join(part[i]), ...); }, parts_);
    return static_cast<Value>(all);
  }
  void reserve(std::size_t n) {
    std::apply([&](auto&... part) { (part.reserve(n), ...); }, parts_);
  }
  void push_back(Value v) {
    split(v, [](auto& part, auto bits) { part.push_back(bits); });
  }
  void set(std::size_t i, Value v) {
    split(v, [&](auto& part, auto bits) { part.set(i, bits); });
  }
  void keep_first(std::size_t n) {
    std::apply([&](auto&... part) { (part.keep_first(n), ...); }, parts_);
  }

 private:
  using Bits = unsigned __int128;
  /// Calls `use` with each part and its bits of a value.
  template <typename Use>
  void split(Value v, const Use& use) {
    Bits rest = static_cast<Bits>(v);
    const auto next = [&]<typename Part>(CompactColumn<Part>& part) {
      use(part, static_cast<Part>(rest));
      rest >>= CHAR_BIT * sizeof(Part);
    };
    std::apply([&](auto&... part) { (next(part), ...); }, parts_);
  }

  std::tuple<CompactColumn<Parts>...> parts_;
};

using CountColumn = SplitColumn<Count, std::uint32_t, std::uint32_t>;
/// Times below 18 s need 8 bytes, below 2500 years 12 bytes.
using TickColumn = SplitColumn<Ticks, std::uint64_t, std::uint32_t, std::uint32_t>;

}  // namespace llmcalc
