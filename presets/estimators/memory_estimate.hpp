#pragma once
/// What was fitted to measured memories of training: presets/estimates/memory.json.

#include <array>
#include <string>

#include "calc/choice.hpp"
#include "presets/estimators/estimate.hpp"

namespace llmcalc {

struct MemoryParameters {
  double reserved = 0;    ///< of what is allocated, that PyTorch's allocator reserves besides
  double fragmented = 0;  ///< the same where a process is looked at from outside: all that it ever reserved
  double process = 0;     ///< bytes that no allocator counts: driver, kernels' code, communicators
  bool operator==(const MemoryParameters&) const = default;
};
inline constexpr std::size_t memory_parameter_count = 3;
/// In the order of MemoryParameters' fields. The fit (evidence/memory_fit.hpp) looks at every value within the bounds.
extern const std::array<ParameterCard, memory_parameter_count> memory_parameter_cards;

/// What was measured, as far as predictions of it are alike.
enum class MemoryClass : std::uint8_t {
  allocator,  ///< what tensors take or the allocator holds, and peaks of which it is not said what they count
  process     ///< all of the process
};
template <>
inline constexpr auto choices<MemoryClass> =
    std::array{Choice{MemoryClass::allocator, "allocator"}, Choice{MemoryClass::process, "process"}};

struct MemoryEstimate {
  MemoryParameters parameters{};
  std::array<EstimateInterval, 2> intervals{};
  std::string fitted{};  ///< when, and on what
  const EstimateInterval& interval(MemoryClass c) const { return intervals[static_cast<std::size_t>(c)]; }
};
/// Read when it is first asked for.
const MemoryEstimate& memory_estimate();
MemoryEstimate read_memory_estimate(const json::Value& value, const std::string& where);

}  // namespace llmcalc
