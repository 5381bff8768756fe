#pragma once
/// Implementations of flash attention, for backends with more than one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace llmcalc::model {

enum class AttentionCore : std::uint8_t {
  mma,   ///< runs on tensor cores
  plain  ///< runs as scalar multiply-adds
};

/// Why attention did not run on tensor cores.
enum class CoreObstacle : std::uint8_t {
  environment,  ///< LLMCALC_ATTENTION=plain is set
  float32,      ///< the number format is float32
  head_width,   ///< head widths of queries and values differ, are not multiples of 16, or exceed 128
  rotary_part,  ///< rotary components are stored separately
  alibi,
  dropout,
  scale,  ///< scale of the scores is not positive
  layout  ///< memory not aligned to 16 bytes, a wrapped cache, or more keys than an int can count
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
  std::optional<CoreObstacle> obstacle = {};  ///< why no faster core ran; absent: the fastest core ran
  bool operator==(const CoreRun&) const = default;
};

/// The cores of the last forward and backward run.
struct AttentionCores {
  std::optional<CoreRun> forward, backward;
  std::optional<CoreRun>& of(bool is_backward) { return is_backward ? backward : forward; }
  const std::optional<CoreRun>& of(bool is_backward) const { return is_backward ? backward : forward; }
};

}  // namespace llmcalc::model
