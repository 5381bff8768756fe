#pragma once
/// Recognizes the inference engine from a row's words.

#include <optional>
#include <string>

#include "evidence/names/engine_name.hpp"

namespace llmcalc {

EngineName engine_name(const std::string& said, const std::string& notes);

/// Whether a Dynamo release serves the engine: "dynamo-trt 0.8.1". Its versions are not those of the engine.
bool is_behind_dynamo(const std::string& said);

/// Release or build number at the start of a stated version: "0.8.3", "b9187", "0.11" for "about 0.11". Empty for
/// commits, images and branches. In that case, the run's date if it is stated, since stacks also have versions by date.
std::string version_said(const std::string& text, const std::string& date);

/// Why an engine is unknown: "the engine is not stated", or its quoted name followed by "is unknown".
std::string unknown_engine(const std::string& said);

/// Value of an engine's option in notes: "max_num_seqs=256", "max-num-seqs 256". Empty if the notes lack the option.
std::optional<Count> said_option(const std::string& notes, std::string name);

}  // namespace llmcalc
