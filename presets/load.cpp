#include "presets/load.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "presets/builtin.hpp"
#include "presets/import/import.hpp"
#include "presets/model_file.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

namespace fs = std::filesystem;

bool exists(std::string_view path) {
  std::error_code ignored;
  return !path.empty() && fs::exists(fs::path(path), ignored);
}

/// Whether `text` is meant as a path: a name of a preset has no '/' and no ".json", and is not the name of a file.
bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || lower(text).ends_with(".json") || exists(text);
}

/// The preset that `text` names; null where it is a path. A file that exists comes before a preset whose name `text`
/// is only nearly.
const Builtin* preset_named(std::span<const Builtin> presets, std::string_view text) {
  return exists(text) ? find_builtin(presets, text) : find_meant(presets, text);
}

[[noreturn]] void refuse_name(std::string_view kind, std::string_view name, std::span<const Builtin> presets) {
  if (name.empty()) throw InputError(fmt::format("no {} is given; 'llmcalc list' shows the names", kind));
  throw InputError(unknown_name(kind, name, builtin_names(presets), presets.size()));
}

json::Value preset_json(const Builtin& preset) {
  return json::parse(preset.text, fmt::format("preset '{}'", preset.name));
}

/// The path of the JSON file that `path` leads to: itself, or the config.json in it.
std::string model_path(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return path;
  const fs::path config = fs::path(path) / "config.json";
  if (!fs::exists(config, failed))
    throw InputError(
        fmt::format("the folder '{}' holds no config.json; give a model file or a folder that holds one", path));
  return config.string();
}

bool is_hardware_file(const json::Value& value) {
  return value.is_object() && value.contains("memory") && value.contains("matmul");
}

}  // namespace

HardwareCard load_hardware(std::string_view name_or_path) {
  if (const Builtin* preset = preset_named(builtin_hardware(), name_or_path)) {
    const json::Value value = preset_json(*preset);
    return read_hardware_file(value, fmt::format("preset '{}'", preset->name));
  }
  if (!is_path(name_or_path)) refuse_name("hardware", name_or_path, builtin_hardware());
  const std::string path(name_or_path);
  const json::Value value = json::parse(json::file_text(path), path);
  if (is_model_file(value)) throw InputError(fmt::format("'{}' is a model file; a hardware file is wanted", path));
  return read_hardware_file(value, path);
}

ModelCard load_model(std::string_view name_or_path) {
  if (const Builtin* preset = preset_named(builtin_models(), name_or_path))
    return read_model_file(preset_json(*preset), fmt::format("preset '{}'", preset->name));
  if (!is_path(name_or_path)) refuse_name("model", name_or_path, builtin_models());
  const std::string path = model_path(std::string(name_or_path));
  const json::Value value = json::parse(json::file_text(path), path);
  if (is_model_file(value)) return read_model_file(value, path);
  if (is_hardware_file(value)) throw InputError(fmt::format("'{}' is a hardware file; a model is wanted", path));
  return import_config(value, path);
}

}  // namespace llmcalc
