#pragma once
/// Loads models and devices from user input: a preset's name or alias, or the path of a file.

#include <string>
#include <string_view>

#include "presets/builtin.hpp"
#include "presets/hardware_file.hpp"
#include "presets/model_card.hpp"
#include "presets/software_file.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Loads hardware by the name or alias of a preset, in any form that users write (find_meant, presets/builtin.hpp),
/// or by the path of a hardware file. A string is a path if it contains '/', ends in ".json" or names an existing
/// file. For an unknown name, throws an InputError with the nearest known names.
HardwareCard load_hardware(std::string_view name_or_path);
HardwareCard load_hardware(const Builtin& preset);
/// The JSON of the file that load_hardware() reads, for callers that extend it. Makes the same checks.
json::Value hardware_json(std::string_view name_or_path);

/// Like load_hardware(), for a software stack. The name may end with a version (presets/stack/version.hpp).
SoftwareCard load_software(std::string_view name_or_path);
/// The JSON keys of a stack that apply at its version, including its parents' keys. Makes the checks of
/// load_software().
json::Value software_at(std::string_view name_or_path);

/// Loads a model. A path may refer to an llmcalc model file, a Hugging Face config.json or a folder that contains
/// one, or a checkpoint (presets/header/checkpoint.hpp); the content determines the kind. Of a checkpoint, only the
/// headers are read, and weights are counted with their actual bytes.
ModelCard load_model(std::string_view name_or_path);
ModelCard load_model(const Builtin& preset);

/// A file's JSON, and the file's name for error messages.
struct Document {
  std::string where;
  json::Value value;
};
/// The config.json at a path, including the quantization block from a separate file; for a GGUF file, the config
/// equivalent to its keys. Throws InputError if there is no config.
Document config_document(const std::string& path);

}  // namespace llmcalc
