#pragma once
/// Volume and alpha-beta time of a collective under each algorithm: the answer of `llmcalc collective`.

#include <optional>
#include <string>

#include "presets/hardware_file.hpp"
#include "report/report.hpp"

namespace llmcalc {

struct CollectiveQuestion {
  std::string op;
  Bytes bytes;
  Count ranks = 1;
  std::optional<HardwareCard> hardware;     ///< hardware whose link or network connects the ranks
  std::optional<BytesPerSecond> bandwidth;  ///< overrides the hardware's bandwidth
  std::optional<Seconds> latency;
};

/// Throws InputError for an unknown collective, if the ranks cannot run it, or if no link connects them.
Report collective_report(const CollectiveQuestion& question);

}  // namespace llmcalc
