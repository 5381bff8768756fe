#pragma once
/// Volume and alpha-beta time of a collective by every algorithm: what `llmcalc collective` answers.

#include <optional>
#include <string>

#include "presets/hardware_file.hpp"
#include "report/report.hpp"

namespace llmcalc {

struct CollectiveQuestion {
  std::string op;
  Bytes bytes;
  Count ranks = 1;
  std::optional<HardwareCard> hardware;     ///< whose link or network joins the ranks
  std::optional<BytesPerSecond> bandwidth;  ///< in place of the hardware's
  std::optional<Seconds> latency;
};

/// Throws InputError for an unknown collective, and where the ranks cannot run it or no link joins them.
Report collective_report(const CollectiveQuestion& question);

}  // namespace llmcalc
