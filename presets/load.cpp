#include "presets/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>

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

/// Whether `text` is meant as a path: a name of a preset has no '/' and no ".json", and is neither "-" nor the name of
/// a file.
bool is_path(std::string_view text) {
  return text == json::standard_input || text.find('/') != std::string_view::npos || lower(text).ends_with(".json") ||
         exists(text);
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

std::string preset_name(const Builtin& preset) { return fmt::format("preset '{}'", preset.name); }
json::Value preset_json(const Builtin& preset) { return json::parse(preset.text, preset_name(preset)); }

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

/// Whether a file that begins with `start` holds weights: GGUF's magic, or the length of a safetensors header before
/// its brace (github.com/ggml-org/ggml, docs/gguf.md; github.com/huggingface/safetensors, README).
bool begins_as_weights(std::string_view start) {
  return start.starts_with("GGUF") || (start.size() > 8 && start[8] == '{' && start[7] == '\0');
}

bool ends_as_weights(const std::string& path) {
  static constexpr std::array<std::string_view, 5> endings{".gguf", ".safetensors", ".bin", ".pt", ".pth"};
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) { return lower(path).ends_with(e); });
}

/// The first bytes of a regular file; none of a pipe, which would lose them.
std::string first_bytes(const std::string& path) {
  std::error_code failed;
  std::string start(9, '\0');
  if (!fs::is_regular_file(path, failed)) return "";
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  return start;
}

void refuse_weights(const std::string& where, std::string_view start) {
  if (begins_as_weights(start) || (!start.starts_with('{') && ends_as_weights(where)))
    throw InputError(
        fmt::format("'{}' holds weights, which say no shape; give the config.json of the model that they belong to, or "
                    "an llmcalc model file",
                    where));
}

/// A file as the user named it, and what it holds.
struct Document {
  std::string where;
  json::Value value;
};

Document read_document(const std::string& path) {
  refuse_weights(path, first_bytes(path));
  const std::string text = json::file_text(path);
  std::string where = path == json::standard_input ? "standard input" : path;
  refuse_weights(where, text);
  json::Value value = json::parse(text, where);
  return {std::move(where), std::move(value)};
}

bool is_hardware_file(const json::Value& value) {
  return value.is_object() && value.contains("memory") && value.contains("matmul");
}

/// ModelOpt may write its block into a file beside the config.
void add_quantization(Document& config) {
  const fs::path path(config.where), beside = path.parent_path() / "hf_quant_config.json";
  std::error_code failed;
  if (path.filename() != "config.json" || !fs::is_regular_file(beside, failed)) return;
  if (!config.value.is_object() || config.value.contains("quantization_config")) return;
  config.value["quantization_config"] = json::parse(json::file_text(beside.string()), beside.string());
}

}  // namespace

HardwareCard load_hardware(const Builtin& preset) {
  return read_hardware_file(preset_json(preset), preset_name(preset));
}

namespace {
Document hardware_document(std::string_view name_or_path) {
  if (const Builtin* preset = preset_named(builtin_hardware(), name_or_path))
    return {preset_name(*preset), preset_json(*preset)};
  if (!is_path(name_or_path)) refuse_name("hardware", name_or_path, builtin_hardware());
  Document d = read_document(std::string(name_or_path));
  if (is_model_file(d.value))
    throw InputError(fmt::format("'{}': expected a hardware file, got a model file", d.where));
  return d;
}
}  // namespace

HardwareCard load_hardware(std::string_view name_or_path) {
  const Document d = hardware_document(name_or_path);
  return read_hardware_file(d.value, d.where);
}

json::Value hardware_json(std::string_view name_or_path) {
  Document d = hardware_document(name_or_path);
  read_hardware_file(d.value, d.where);
  return std::move(d.value);
}

SoftwareCard load_software(std::string_view name_or_path) {
  if (const Builtin* preset = preset_named(builtin_software(), name_or_path))
    return read_software_file(preset_json(*preset), preset_name(*preset));
  if (!is_path(name_or_path)) refuse_name("software", name_or_path, builtin_software());
  const Document d = read_document(std::string(name_or_path));
  return read_software_file(d.value, d.where);
}

ModelCard load_model(const Builtin& preset) { return read_model_file(preset_json(preset), preset_name(preset)); }

ModelCard load_model(std::string_view name_or_path) {
  if (const Builtin* preset = preset_named(builtin_models(), name_or_path)) return load_model(*preset);
  if (!is_path(name_or_path)) refuse_name("model", name_or_path, builtin_models());
  Document d = read_document(model_path(std::string(name_or_path)));
  if (is_model_file(d.value)) return read_model_file(d.value, d.where);
  if (is_hardware_file(d.value)) throw InputError(fmt::format("'{}': expected a model, got a hardware file", d.where));
  add_quantization(d);
  return import_config(d.value, d.where);
}

}  // namespace llmcalc
