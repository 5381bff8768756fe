#pragma once
/// Explanations of a report's numbers, by path.

#include <map>
#include <string>

#include "text/json.hpp"

namespace llmcalc {

/// JSON of 'explain' for each path: "memory.weights_bytes".
using Explanations = std::map<std::string, json::Value, std::less<>>;

/// Explanations of all numbers of an answer, from the request that it describes. Empty if the request cannot be
/// explained (a machine of unlike devices, for example).
Explanations explanations_of(const json::Value& report);

}  // namespace llmcalc
