#pragma once
/// What each key of a config.json became, found by asking the importer again with that key changed or left out: the
/// parts of the model file that are then others depend on it.

#include <string>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

/// How the importer reads one key.
struct KeyReading {
  std::string key;                   ///< "text_config.hidden_size"
  std::string value;                 ///< as JSON
  std::vector<std::string> becomes;  ///< parts of the model file that depend on it: "attention.heads 32"
  std::string why;                   ///< why nothing depends on it; empty where something does
};

/// Every key of a config that import_config takes, in the file's order. Objects are read key by key where something
/// depends on a key of theirs. Throws InputError where import_config does.
std::vector<KeyReading> key_readings(const json::Value& config, const std::string& where);

}  // namespace llmcalc
