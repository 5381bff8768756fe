#pragma once
/// The engine that ran an inference.

#include <optional>
#include <string>

#include "calc/units.hpp"

namespace llmcalc {

struct EngineName {
  std::string name{};     ///< "vllm", "llama.cpp", ...; as written where it is not known; "not stated"
  std::string version{};  ///< "0.6.3"; empty: not stated
  bool known = true;
  bool eager = false;  ///< an engine of graphs that was told not to record
};

/// The first number of a version behind its first point, 0.6.3: 6; of versions from 1.0 on: 1000. Not stated: nothing.
std::optional<Count> minor_version(const std::string& version);

}  // namespace llmcalc
