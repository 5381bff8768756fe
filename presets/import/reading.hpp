#pragma once
/// The effect of each key of a config.json, found by importing the config with the key changed or removed. Parts of the
/// model file that then change depend on the key.

#include <string>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

/// How the importer reads one key.
struct KeyReading {
  std::string key;                   ///< path of the key: "text_config.hidden_size"
  std::string value;                 ///< value of the key as JSON
  std::vector<std::string> becomes;  ///< parts of the model file that depend on it: "attention.heads 32"
  std::string why;                   ///< reason that the key has no effect; empty if it has an effect
};

/// Readings of every key of a config, in file order. Objects are listed key by key if any of their keys has an effect.
/// Throws InputError if import_config() does not accept the config.
std::vector<KeyReading> key_readings(const json::Value& config, const std::string& where);

}  // namespace llmcalc
