#pragma once
/// The engine that ran an inference, from how a row calls it.

#include <string>

namespace llmcalc {

struct EngineName {
  std::string name;     ///< "vllm", "llama.cpp", ...; as written where it is not known
  std::string version;  ///< "0.6.3"; empty: not stated
  bool known = true;
  bool eager = false;  ///< an engine of graphs that was told not to record
};

EngineName engine_name(const std::string& said, const std::string& notes);

}  // namespace llmcalc
