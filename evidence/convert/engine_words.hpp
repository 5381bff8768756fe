#pragma once
/// The engine that ran an inference, as a row calls it.

#include <optional>
#include <string>

#include "evidence/names/engine_name.hpp"

namespace llmcalc {

EngineName engine_name(const std::string& said, const std::string& notes);

/// Why another engine stands for one that is not known, in words.
std::string unknown_engine(const std::string& said);

/// The value of an engine's option that notes tell in words: "max_num_seqs=256", "max-num-seqs 256". Nothing: none is.
std::optional<Count> said_option(const std::string& notes, std::string name);

}  // namespace llmcalc
