#pragma once
/// Device memory of a training process under its software: an estimate with an interval. Excludes nothing that
/// nvidia-smi counts; tensors of the plan are exact.

#include <optional>
#include <string>
#include <vector>

#include "ask/request/request.hpp"
#include "presets/estimators/process_memory.hpp"

namespace llmcalc {

struct ProcessEstimate {
  std::string software;               ///< the profile whose process it is
  std::vector<ProcessMemory> stages;  ///< one per pipeline rank
  Bytes tensors{};                    ///< of the fullest stage, as the plan states them
  EstimateInterval interval{};
  const ProcessMemory& fullest() const { return llmcalc::fullest(stages); }
  double needed_low() const;  ///< bytes: the ends of the interval of the fullest stage
  double needed_high() const;
  Bytes low() const { return Bytes(static_cast<Count>(needed_low())); }  ///< the same in whole bytes
  Bytes high() const { return Bytes(static_cast<Count>(needed_high())); }
  Bytes needed() const { return llmcalc::needed(fullest()); }  ///< by the fullest stage
};
/// Absent without a device, and for a device or software of which it is not known.
/// `tensors`: bytes of the plan on the fullest stage.
std::optional<ProcessEstimate> process_estimate(const Request& r, Bytes tensors);
bool has_process_estimate(const Request& r);

/// Whether the device holds what the process needs: all but the slack, which its allocator gives back.
bool fits(const ProcessEstimate& p, const Device& device);
/// The device's memory that tensors of a plan may fill.
Bytes usable_memory(const Request& r);

}  // namespace llmcalc
