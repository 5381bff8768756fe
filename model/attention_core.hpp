#pragma once
/// The implementations of flash attention, where a backend has more than one.

#include <cstdint>
#include <optional>
#include <string>

namespace llmcalc::model {

enum class AttentionCore : std::uint8_t {
  cudnn,  ///< cuDNN's
  mma,    ///< own kernels on tensor cores
  plain   ///< own kernels of plain multiply-adds
};

/// A core that ran.
struct CoreRun {
  AttentionCore core = AttentionCore::plain;
  std::string name;     ///< with its version: "cuDNN 9.19.0"
  std::string refused;  ///< why no faster one ran: "not cudnn: there is a window"; empty: there is none
  bool operator==(const CoreRun&) const = default;
  std::string text() const { return refused.empty() ? name : name + ", " + refused; }
};

/// The cores that ran last in either direction.
struct AttentionCores {
  std::optional<CoreRun> forward, backward;
  std::optional<CoreRun>& of(bool is_backward) { return is_backward ? backward : forward; }
  const std::optional<CoreRun>& of(bool is_backward) const { return is_backward ? backward : forward; }
  /// Both directions where they differ; empty where nothing ran.
  std::string text() const {
    const std::string first = forward ? forward->text() : "";
    if (!backward || forward == backward) return first;
    return "forward: " + first + "; backward: " + backward->text();
  }
};

}  // namespace llmcalc::model
