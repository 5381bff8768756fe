#pragma once
/// Explanations of a report's numbers, by path.

#include <map>
#include <string>

#include "text/json.hpp"

namespace llmcalc {

/// JSON of 'explain' for each path: "memory.weights_bytes".
using Explanations = std::map<std::string, json::Value, std::less<>>;

/// Explanations of the numbers of an answer, section by section, from the request that it describes. Sections that
/// cannot be explained (of a machine of unlike devices, for example) are omitted.
Explanations explanations_of(const json::Value& report);

}  // namespace llmcalc
