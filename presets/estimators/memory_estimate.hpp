#pragma once
/// Parameters fitted to measured training memory: presets/estimates/memory.json.

#include <array>
#include <string>

#include "calc/choice.hpp"
#include "presets/estimators/estimate.hpp"

namespace llmcalc {

struct MemoryParameters {
  double reserved = 0;    ///< bytes reserved but not allocated by PyTorch's allocator, as a fraction of allocated bytes
  double fragmented = 0;  ///< the same ratio, measured outside the process, for all bytes ever reserved
  double process = 0;     ///< bytes outside any allocator: driver, kernel code, communicators
  bool operator==(const MemoryParameters&) const = default;
};
inline constexpr std::size_t memory_parameter_count = 3;
/// Cards in the order of MemoryParameters' fields. The fit (evidence/fit/memory_fit.hpp) searches all values within the
/// bounds.
extern const std::array<ParameterCard, memory_parameter_count> memory_parameter_cards;

/// Measured quantities, grouped by prediction accuracy.
enum class MemoryClass : std::uint8_t {
  allocator,  ///< bytes of tensors or of the allocator, and unspecified peaks
  process     ///< the whole process
};
template <>
inline constexpr auto choices<MemoryClass> =
    std::array{Choice{MemoryClass::allocator, "allocator"}, Choice{MemoryClass::process, "process"}};

struct MemoryEstimate {
  MemoryParameters parameters{};
  std::array<EstimateInterval, 2> intervals{};
  std::string fitted{};  ///< date and dataset of the fit
  const EstimateInterval& interval(MemoryClass c) const { return intervals[static_cast<std::size_t>(c)]; }
};
/// The built-in estimate, which is read on first use.
const MemoryEstimate& memory_estimate();
MemoryEstimate read_memory_estimate(const json::Value& value, const std::string& where);

}  // namespace llmcalc
