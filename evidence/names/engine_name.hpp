#pragma once
/// Name and version of the inference engine of a measurement.

#include <optional>
#include <string>

#include "calc/units.hpp"

namespace llmcalc {

struct EngineName {
  std::string name{};  ///< name: "vllm", "llama.cpp", ...; as written if unknown; "not stated"
  std::string
      version{};  ///< version: "0.6.3"; the month or day of the run, "2026-02", if only that is stated; or empty
  bool known = true;
  bool eager = false;  ///< whether graph capture was disabled, in an engine that supports it
};

/// Minor version of 0.x releases (6 for 0.6.3); 1000 from 1.0 on. Empty for a date or if not stated.
std::optional<Count> minor_version(const std::string& version);

}  // namespace llmcalc
