#pragma once
/// From what the user typed to a model or a device: a preset's name or alias, or the path of a file.

#include <string>
#include <string_view>

#include "presets/builtin.hpp"
#include "presets/hardware_file.hpp"
#include "presets/model_card.hpp"
#include "presets/software_file.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// A preset's name or alias as people write it (find_meant, presets/builtin.hpp), or the path of a hardware file: what
/// contains '/', ends in ".json" or exists. Throws InputError, for an unknown name with the nearest known ones.
HardwareCard load_hardware(std::string_view name_or_path);
HardwareCard load_hardware(const Builtin& preset);
/// The JSON of the same file, which load_hardware() has checked: for a file that adds something to it.
json::Value hardware_json(std::string_view name_or_path);

/// The same for software.
SoftwareCard load_software(std::string_view name_or_path);

/// Loads a model. A path may lead to an llmcalc model file, to a Hugging Face config.json or a folder that holds one,
/// or to a checkpoint (presets/header/checkpoint.hpp), of which only headers are read; the content decides which. A
/// checkpoint's own bytes are the weights of its model.
ModelCard load_model(std::string_view name_or_path);
ModelCard load_model(const Builtin& preset);

/// A file's JSON, and what errors call the file.
struct Document {
  std::string where;
  json::Value value;
};
/// The config.json that a path leads to, with the quantisation block of a file beside it; of a GGUF file the config
/// that its keys amount to. Throws InputError where the path leads to no config.
Document config_document(const std::string& path);

}  // namespace llmcalc
