#include "presets/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "presets/formats/held_formats.hpp"
#include "presets/header/checkpoint_model.hpp"
#include "presets/header/gguf_config.hpp"
#include "presets/import/import.hpp"
#include "presets/model_file.hpp"
#include "presets/names/meant_model.hpp"
#include "text/file_access.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

namespace fs = std::filesystem;

bool exists(std::string_view path) {
  std::error_code ignored;
  return has_file_access() && !path.empty() && fs::exists(fs::path(path), ignored);
}

/// Whether `text` is meant as a path: it contains '/', ends in one of the extensions below, is "-", or names an
/// existing file.
bool is_path(std::string_view text) {
  const std::string name = lower(text);
  for (const std::string_view ending : {".json", ".gguf", ".safetensors"})
    if (name.ends_with(ending)) return true;
  return text == json::standard_input || text.find('/') != std::string_view::npos || exists(text);
}

/// The preset named by `text`; null if `text` is a path. An existing file takes precedence over a preset whose name
/// is only similar.
const Builtin* preset_named(std::span<const Builtin> presets, std::string_view text) {
  return exists(text) ? find_builtin(presets, text) : find_meant(presets, text);
}

[[noreturn]] void refuse_name(std::string_view kind, std::string_view name, std::span<const Builtin> presets) {
  if (name.empty()) throw InputError(fmt::format("no {} specified; 'llmcalc list' shows the names", kind));
  throw InputError(unknown_name(kind, name, builtin_names(presets), presets.size()));
}

std::string preset_name(const Builtin& preset) { return fmt::format("preset '{}'", preset.name); }
json::Value preset_json(const Builtin& preset) { return json::parse(preset.text, preset_name(preset)); }

/// Path of the JSON file: `path` itself, or the config.json in the folder `path`.
std::string model_path(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return path;
  const fs::path config = fs::path(path) / "config.json";
  if (!fs::exists(config, failed))
    throw InputError(
        fmt::format("the folder '{}' contains no config.json; pass a model file or a folder with a config.json", path));
  return config.string();
}

/// Throws InputError for weight files in formats that do not state shapes, and for weights read through a pipe.
void refuse_weights(const std::string& where, std::string_view start) {
  static constexpr std::array<std::string_view, 3> endings{".bin", ".pt", ".pth"};
  const bool pickled = std::any_of(endings.begin(), endings.end(), [&](auto e) { return lower(where).ends_with(e); });
  if (begins_as_checkpoint(start) || (!start.starts_with('{') && pickled))
    throw InputError(
        fmt::format("'{}' contains weights but no architecture; pass the model's config.json or an llmcalc model "
                    "file",
                    where));
}

Document read_document(const std::string& path) {
  const std::string text = json::file_text(path);
  std::string where = path == json::standard_input ? "standard input" : path;
  refuse_weights(where, text);
  const bool config = text.find("\"model_type\"") != std::string::npos;  // transformers writes Infinity in configs
  json::Value value = json::parse(config ? json::without_infinities(text) : text, where);
  return {std::move(where), std::move(value)};
}

bool is_hardware_file(const json::Value& value) {
  return value.is_object() && value.contains("memory") && value.contains("matmul");
}

/// Adds the quantization block from a separate file in the config's folder, which ModelOpt, AutoGPTQ and AutoAWQ may
/// write.
void add_quantization(Document& config) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> files{
      {{"hf_quant_config.json", ""}, {"quantize_config.json", "gptq"}, {"quant_config.json", "awq"}}};
  const fs::path path(config.where);
  if (path.filename() != "config.json" || !config.value.is_object()) return;
  for (const auto& [name, method] : files) {
    const fs::path beside = path.parent_path() / name;
    std::error_code failed;
    if (!fs::is_regular_file(beside, failed) || config.value.contains("quantization_config")) continue;
    json::Value block = json::parse(json::file_text(beside.string()), beside.string());
    if (!method.empty() && block.is_object() && !block.contains("quant_method")) block["quant_method"] = method;
    config.value["quantization_config"] = std::move(block);
  }
}

/// The config.json in the folder of `file`; absent if that folder has none.
std::optional<std::string> config_beside(const std::string& file) {
  const fs::path config = fs::path(file).parent_path() / "config.json";
  std::error_code failed;
  return fs::is_regular_file(config, failed) ? std::optional(config.string()) : std::nullopt;
}
std::optional<std::string> config_beside(const Checkpoint& c) { return config_beside(c.files.front()); }

/// The config.json at `path`, including the quantization block from a separate file.
Document whole_config(const std::string& path) {
  Document config = read_document(path);
  add_quantization(config);
  return config;
}

/// A size of an architecture and its name, for comparing two descriptions of a model.
struct NamedSize {
  std::string_view name;
  Count (*of)(const Arch&);
};
/// Sizes that GGUF converters preserve. Excludes the vocabulary, which some converters truncate or pad.
constexpr std::array saved_sizes{
    NamedSize{"layers", [](const Arch& a) { return a.layers; }},
    NamedSize{"channels", [](const Arch& a) { return a.hidden; }},
    NamedSize{"heads", [](const Arch& a) { return a.heads; }},
    NamedSize{"KV heads", [](const Arch& a) { return a.kv_heads; }},
    NamedSize{"channels per head", [](const Arch& a) { return a.head_dim; }},
    NamedSize{"channels per MLP", [](const Arch& a) { return a.mlp_width; }},
    NamedSize{"experts", [](const Arch& a) { return a.moe.experts; }},
};

/// Architecture described by a config.json; absent if the config is not supported. This is not an error, because the
/// GGUF file in the same folder does not need the config.
std::optional<Arch> arch_in(const std::string& config) {
  try {
    const Document d = whole_config(config);
    return import_config(d.value, d.where).arch;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

void refuse_other_model(const Document& own, const std::string& config) {
  const std::optional<Arch> said = arch_in(config);
  if (!said) return;
  const Arch held = import_config(own.value, own.where).arch;
  for (const NamedSize& size : saved_sizes)
    if (size.of(*said) != size.of(held))
      throw InputError(
          fmt::format("{} and the keys of '{}' disagree: {} {} versus {}; they belong to different "
                      "models",
                      config, own.where, size.of(*said), size.name, size.of(held)));
}

/// The config derived from a GGUF file's keys, or the config.json in its folder if the keys are not sufficient.
Document described_gguf(const Checkpoint& c) {
  const std::optional<std::string> beside = config_beside(c);
  if (!beside) return {c.where, gguf_config(c)};
  std::optional<Document> own;
  try {
    own = Document{c.where, gguf_config(c)};
  } catch (const InputError&) {
    return whole_config(*beside);
  }
  refuse_other_model(*own, *beside);
  return *own;
}

Document checkpoint_config(const Checkpoint& c) {
  if (c.is_gguf()) return described_gguf(c);
  if (const auto config = config_beside(c)) return whole_config(*config);
  throw InputError(fmt::format(
      "'{}' contains tensors but no architecture; put the model's config.json in the same folder", c.where));
}

/// Builds a model card from the config and the headers of a checkpoint.
ModelCard checkpoint_card(const std::string& path) {
  const Checkpoint c = read_checkpoint(path);
  const Document config = checkpoint_config(c);
  ModelCard card = import_config(config.value, config.where);
  if (card.renumbered)
    card.caveats.push_back(
        fmt::format("the tensors of '{}' are not read because its layers are numbered differently; sizes and number "
                    "formats come from the config",
                    c.where));
  else
    add_checkpoint(card, c);
  return card;
}

/// Bytes of a checkpoint's model, MTP modules and encoders in the formats that its config states.
Count stored_bytes(const ModelCard& card) {
  const WeightFormats formats = card.weights.value_or(dtypes::bf16);
  Bytes all = card.media_encoders.bytes();
  for (const Owner owner : {Owner::model, Owner::modules}) {
    if (owner == Owner::modules && card.arch.mtp.modules == 0) continue;
    const ComponentBytes held = held_bytes(card.arch, formats, owner);
    for (std::size_t c = 0; c < component_count; ++c) all += held[static_cast<Component>(c)];
  }
  return all.value;
}

std::string absent_note(const AbsentShards& absent, const ModelCard& card) {
  const Count bytes = stored_bytes(card);
  const std::string compared =
      !absent.stated ? ""
      : *absent.stated == bytes
          ? ", whose byte count matches the index"
          : fmt::format("; the index states {} bytes of tensors, and the config implies {}", *absent.stated, bytes);
  return fmt::format("all shards of '{}' are missing, so sizes and number formats come from {}{}", absent.index,
                     card.source, compared);
}

/// The config.json next to missing shards. Absent if the shards exist or the config is also missing.
std::optional<Document> config_for_absent(const std::optional<AbsentShards>& absent) {
  if (!absent) return std::nullopt;
  const std::optional<std::string> config = config_beside(absent->index);
  return config ? std::optional(whole_config(*config)) : std::nullopt;
}

/// Card of a checkpoint, or of the config.json next to an index with missing shards.
ModelCard checkpoint_or_config_card(const std::string& path) {
  const std::optional<AbsentShards> absent = absent_shards(path);
  const std::optional<Document> config = config_for_absent(absent);
  if (!config) return checkpoint_card(path);
  ModelCard card = import_config(config->value, config->where);
  card.caveats.push_back(absent_note(*absent, card));
  return card;
}

/// Sets the card's name in commands to `word`.
template <class Card>
Card named(Card card, std::string_view word) {
  card.word = word;
  return card;
}

bool is_checkpoint_path(const std::string& path) { return path != json::standard_input && is_checkpoint(path); }

}  // namespace

HardwareCard load_hardware(const Builtin& preset) {
  return named(read_hardware_file(preset_json(preset), preset_name(preset)), preset.name);
}

namespace {
Document hardware_document(std::string_view name_or_path) {
  if (const Builtin* preset = preset_named(builtin_hardware(), name_or_path))
    return {preset_name(*preset), preset_json(*preset)};
  if (name_or_path.find('+') != std::string_view::npos && !is_path(name_or_path))
    throw InputError(fmt::format(
        "'{}': only infer, memory --infer, report and fit can estimate several devices of one machine; name "
        "one device here",
        printable(name_or_path)));
  if (!is_path(name_or_path)) refuse_name("hardware", name_or_path, builtin_hardware());
  Document d = read_document(std::string(name_or_path));
  if (is_model_file(d.value))
    throw InputError(fmt::format("'{}': expected a hardware file, got a model file", d.where));
  return d;
}
}  // namespace

namespace {
/// A preset by its exact name; absent for other names. Presets are read only once, because searches and sweeps load the
/// same devices often.
std::optional<HardwareCard> known_hardware(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, HardwareCard, std::less<>> presets;
  const std::lock_guard lock(mutex);
  if (const auto known = presets.find(name); known != presets.end()) return known->second;
  const Builtin* preset = find_builtin(builtin_hardware(), name);
  if (preset == nullptr) return std::nullopt;
  return presets.emplace(name, load_hardware(*preset)).first->second;
}
}  // namespace

HardwareCard load_hardware(std::string_view name_or_path) {
  if (auto known = known_hardware(name_or_path)) return *std::move(known);
  if (const Builtin* preset = preset_named(builtin_hardware(), name_or_path)) return load_hardware(*preset);
  const Document d = hardware_document(name_or_path);
  return named(read_hardware_file(d.value, d.where), name_or_path);
}

json::Value hardware_json(std::string_view name_or_path) {
  Document d = hardware_document(name_or_path);
  read_hardware_file(d.value, d.where);
  return std::move(d.value);
}

namespace {

/// A software file, the preset name or path by which it was found, and the requested version.
struct SoftwareDocument {
  Document file;
  std::string word;
  std::optional<std::string_view> version;
};
SoftwareDocument software_document(std::string_view text) {
  const auto [name, version] = exists(text) ? VersionedName{text, {}} : versioned(text);
  if (const Builtin* preset = preset_named(builtin_software(), name))
    return {{preset_name(*preset), preset_json(*preset)}, std::string(preset->name), version};
  if (!is_path(name)) refuse_name("software", name, builtin_software());
  return {read_document(std::string(name)), std::string(name), version};
}

/// The file's keys at the requested version, merged over its parent's keys.
SoftwareAtVersion whole_software(const SoftwareDocument& d, int depth) {
  SoftwareAtVersion at = at_version(d.file.value, d.version, d.file.where);
  const json::Object o(at.value, d.file.where);
  const std::string parent = o.text_or("parent", "");
  if (parent.empty()) return at;
  if (depth == 0)
    throw InputError(fmt::format("{}: \"parent\" leads through too many files, or back to this one", o.where()));
  json::Value whole = whole_software(software_document(parent), depth - 1).value;
  for (const char* key : {"name", "title", "aliases", "counterpart", "notes", "launch"}) whole.erase(key);
  at.value.erase("parent");
  whole.merge_patch(at.value);
  at.value = std::move(whole);
  return at;
}
constexpr int most_parents = 8;

}  // namespace

namespace {

SoftwareCard read_software(const SoftwareDocument& d) {
  SoftwareAtVersion at = whole_software(d, most_parents);
  SoftwareCard card = named(read_software_file(at.value, d.file.where),
                            d.version ? fmt::format("{}@{}", d.word, at.version.name) : d.word);
  card.parent = json::Object(d.file.value, d.file.where).text_or("parent", "");
  card.version = std::move(at.version);
  card.versions = std::move(at.versions);
  return card;
}

}  // namespace

SoftwareCard load_software(std::string_view name_or_path) {
  static std::mutex mutex;
  static std::map<std::string, SoftwareCard, std::less<>> presets;  // read once, because searches load them often
  const std::lock_guard lock(mutex);
  if (const auto known = presets.find(name_or_path); known != presets.end()) return known->second;
  SoftwareCard card = read_software(software_document(name_or_path));
  if (find_builtin(builtin_software(), versioned(name_or_path).name) != nullptr) presets.emplace(name_or_path, card);
  return card;
}

json::Value software_at(std::string_view name_or_path) {
  load_software(name_or_path);
  return whole_software(software_document(name_or_path), most_parents).value;
}

ModelCard load_model(const Builtin& preset) {
  return named(read_model_file(preset_json(preset), preset_name(preset)), preset.name);
}

namespace {
ModelCard model_at(const std::string& path) {
  require_file_access(path);
  if (is_checkpoint_path(path)) return checkpoint_or_config_card(path);
  const Document d = whole_config(model_path(path));
  if (is_model_file(d.value)) return read_model_file(d.value, d.where);
  if (is_hardware_file(d.value)) throw InputError(fmt::format("'{}': expected a model, got a hardware file", d.where));
  return import_config(d.value, d.where);
}

/// Finds a model by name. An existing file takes precedence over a preset whose name is only similar.
MeantModel model_called(std::string_view name_or_path) {
  if (exists(name_or_path)) return {find_builtin(builtin_models(), name_or_path)};
  return meant_model(name_or_path);
}
}  // namespace

ModelCard load_model(std::string_view name_or_path) {
  if (const MeantModel m = model_called(name_or_path); m.preset != nullptr) {
    ModelCard card = load_model(*m.preset);
    if (m.format.empty() && m.origin.empty()) return card;
    take_named_format(card, name_or_path, m);
    return named(std::move(card), name_or_path);
  }
  if (!is_path(name_or_path)) refuse_name("model", name_or_path, builtin_models());
  return named(model_at(std::string(name_or_path)), name_or_path);
}

Document config_document(const std::string& path) {
  if (!is_path(path)) throw InputError(fmt::format("'{}' is not a file; expected a config.json or its folder", path));
  require_file_access(path);
  if (is_checkpoint_path(path)) {
    if (std::optional<Document> config = config_for_absent(absent_shards(path))) return std::move(*config);
    return checkpoint_config(read_checkpoint(path));
  }
  Document d = whole_config(model_path(path));
  if (is_model_file(d.value))
    throw InputError(
        fmt::format("'{}' is an llmcalc model file, not a config.json, so its keys need no "
                    "interpretation; pass a config.json",
                    d.where));
  return d;
}

}  // namespace llmcalc
