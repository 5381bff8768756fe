#pragma once
/// The implementations of flash attention, where a backend has more than one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace llmcalc::model {

enum class AttentionCore : std::uint8_t {
  mma,   ///< tensor cores
  plain  ///< multiply-adds of single numbers
};

/// The reason why attention did not run on tensor cores.
enum class CoreObstacle : std::uint8_t {
  environment,  ///< LLMCALC_ATTENTION=plain
  float32,      ///< the format of the numbers
  head_width,   ///< of queries and values: unlike, not a multiple of 16, or beyond 128
  rotary_part,  ///< it lies apart
  alibi,
  dropout,
  scale,  ///< of the scores: not positive
  layout  ///< memory that is not aligned to 16 bytes, a cache that has gone round, or more keys than an int counts
};

constexpr std::string_view name(AttentionCore c) { return c == AttentionCore::mma ? "mma" : "plain"; }
constexpr std::string_view name(CoreObstacle o) {
  constexpr std::string_view names[] = {"environment", "float32", "head_width", "rotary_part",
                                        "alibi",       "dropout", "scale",      "layout"};
  return names[static_cast<std::size_t>(o)];
}

/// A core that ran.
struct CoreRun {
  AttentionCore core = AttentionCore::plain;
  std::optional<CoreObstacle> obstacle = {};  ///< to the faster one; absent: there is none faster
  bool operator==(const CoreRun&) const = default;
};

/// The cores that ran last in either direction.
struct AttentionCores {
  std::optional<CoreRun> forward, backward;
  std::optional<CoreRun>& of(bool is_backward) { return is_backward ? backward : forward; }
  const std::optional<CoreRun>& of(bool is_backward) const { return is_backward ? backward : forward; }
};

}  // namespace llmcalc::model
