#pragma once
/// What a training process takes of a device under its software: an estimate with an interval, beside the tensors whose
/// bytes are exact.

#include <optional>
#include <string>
#include <vector>

#include "presets/process_memory.hpp"
#include "report/report.hpp"
#include "report/request.hpp"

namespace llmcalc {

struct ProcessEstimate {
  std::string software;               ///< the profile whose process it is
  std::vector<ProcessMemory> stages;  ///< one per pipeline rank
  Bytes tensors{};                    ///< of the fullest stage, as the plan states them
  EstimateInterval interval{};
  const ProcessMemory& fullest() const { return llmcalc::fullest(stages); }
};
/// Absent without a device, and for a device or software of which it is not known.
std::optional<ProcessEstimate> process_estimate(const Request& r);
bool has_process_estimate(const Request& r);

/// Whether the device holds what the process needs: all but the slack, which its allocator gives back.
bool fits(const ProcessEstimate& p, const Device& device);
/// "needs about 52.1 GiB (41.8 to 64.9 GiB)"
std::string process_text(const ProcessEstimate& p);

/// The device's memory that tensors of a plan may fill.
Bytes usable_memory(const Request& r);

/// The terms of the fullest stage; empty where they are not known.
Section process_section(const Request& r);
/// One stage's terms as an object.
json::Value process_json(const ProcessMemory& m);

}  // namespace llmcalc
