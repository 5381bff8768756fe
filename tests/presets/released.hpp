#pragma once
// Configs of released models, by name.

#include <string>

#include "presets/import/import.hpp"
#include "text/error.hpp"

namespace llmcalc::test {

/// The published config.json of a model.
inline json::Value released_config(const std::string& name) {
  for (const char* file : {"configs.json", "configs_2026.json", "more_configs.json"}) {
    const std::string path = std::string(LLMCALC_SOURCE_DIR "/tests/presets/data/") + file;
    for (const json::Value& row : json::parse(json::file_text(path), path))
      if (row["name"] == name) return row["config"];
  }
  throw InputError("no config of " + name);
}

/// The card of that model with another quantization block.
inline ModelCard released(const std::string& name, const std::string& block) {
  json::Value v = released_config(name);
  v["quantization_config"] = json::parse(block, "block");
  return import_config(v, "c.json");
}

}  // namespace llmcalc::test
