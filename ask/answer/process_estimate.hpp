#pragma once
/// Estimate of a training process's device memory under its software, with a 90 % interval. Includes everything that
/// nvidia-smi counts; the bytes of the plan's tensors are exact.

#include <optional>
#include <string>
#include <vector>

#include "ask/request/request.hpp"
#include "presets/estimators/process_memory.hpp"

namespace llmcalc {

struct ProcessEstimate {
  std::string software;               ///< name of the software
  std::vector<ProcessMemory> stages;  ///< memory of the process on each pipeline rank
  Bytes tensors{};                    ///< bytes of the plan's tensors on the fullest stage
  Bytes capacity{};                   ///< device memory, as the driver reports it
  EstimateInterval interval{};
  const ProcessMemory& fullest() const { return llmcalc::fullest(stages); }
  double needed_low() const;  ///< lower end of the fullest stage's interval, in bytes
  double needed_high() const;
  Bytes low() const { return Bytes(static_cast<Count>(needed_low())); }  ///< needed_low(), in whole bytes
  Bytes high() const { return Bytes(static_cast<Count>(needed_high())); }
  Bytes needed() const { return llmcalc::needed(fullest()); }  ///< bytes needed on the fullest stage
};
/// Absent without a device, and if the device or software has no process estimate. `tensors`: bytes of the plan on the
/// fullest stage.
std::optional<ProcessEstimate> process_estimate(const Request& r, Bytes tensors);
bool has_process_estimate(const Request& r);

/// Whether the process fits in device memory, not counting the slack that its allocator can release.
bool fits(const ProcessEstimate& p);
/// Device memory available to the plan's tensors.
Bytes usable_memory(const Request& r);

}  // namespace llmcalc
