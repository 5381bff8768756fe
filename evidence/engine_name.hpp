#pragma once
/// The engine that ran an inference, from how a row calls it.

#include <optional>
#include <string>

#include "calc/units.hpp"

namespace llmcalc {

struct EngineName {
  std::string name;     ///< "vllm", "llama.cpp", ...; as written where it is not known; "not stated"
  std::string version;  ///< "0.6.3"; empty: not stated
  bool known = true;
  bool eager = false;  ///< an engine of graphs that was told not to record
};

EngineName engine_name(const std::string& said, const std::string& notes);

/// Why another engine stands for one that is not known, in words.
std::string unknown_engine(const std::string& said);

/// The first number of a version behind its first point, 0.6.3: 6; of versions from 1.0 on: 1000. Not stated: nothing.
std::optional<Count> minor_version(const std::string& version);

/// The value of an engine's option that notes tell in words: "max_num_seqs=256", "max-num-seqs 256". Nothing: none is.
std::optional<Count> said_option(const std::string& notes, std::string name);

}  // namespace llmcalc
