#include "presets/import/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "presets/import/harmless_keys.hpp"
#include "presets/import/import.hpp"
#include "presets/model_file.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

using json::Value;

/// Values of a model file by path, such as "attention.heads". Excludes names.
using PartsByPath = std::map<std::string, std::string>;

/// Prefix that marks the paths of caveats.
constexpr std::string_view note = "a note: ";

void add_parts(const Value& v, const std::string& path, PartsByPath& parts) {
  const bool of_objects = v.is_array() && !v.empty() && v.front().is_object();
  if (!v.is_object() && !of_objects) {
    parts[path] = v.dump();
    return;
  }
  for (const auto& [key, value] : v.items()) add_parts(value, path.empty() ? key : path + "." + key, parts);
}

std::optional<PartsByPath> parts_of(const Value& config) {
  try {
    const ModelCard card = import_config(config, "config");
    Value file = model_file_json(card);
    for (const char* name : {"name", "title", "caveats"}) file.erase(name);
    PartsByPath parts;
    add_parts(file, "", parts);
    for (const std::string& caveat : card.caveats) parts[std::string(note) + caveat] = "";
    return parts;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Maximum value of a dimension.
constexpr Count largest_size = Count{1} << 40;

/// Resizes a list that has one entry per layer to a different number of layers.
void resize_list(Value& list, std::size_t size) {
  while (list.size() > size) list.erase(list.size() - 1);
  while (list.size() < size) list.push_back(list.back());
}

/// Whether a string has one capital letter or symbol per layer ("M-M*-").
bool is_pattern(const Value& v, Count layers) {
  if (!v.is_string() || layers <= 2) return false;
  const std::string& text = v.get_ref<const std::string&>();
  return static_cast<Count>(text.size()) == layers && lower(text) != text &&
         std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}
std::string resized(std::string pattern, std::size_t size) {
  pattern.resize(size, pattern.back());
  return pattern;
}

/// `object` with the number `key` set to `n`. Resizes lists and strings whose length was the old number.
Value with_count(const Value& object, const std::string& key, Count n) {
  Value changed = object;
  const Value& said = object.at(key);
  const Count old = said.is_number_integer() ? said.get<Count>() : 0;
  changed[key] = n;
  for (auto& [name, v] : changed.items())
    if (v.is_array() && old > 1 && static_cast<Count>(v.size()) == old)
      resize_list(v, static_cast<std::size_t>(n));
    else if (is_pattern(v, old))
      v = resized(v.get<std::string>(), static_cast<std::size_t>(n));
  return changed;
}

/// Whether a key affects a part of the model rather than only notes.
bool names_a_part(const std::vector<std::string>& becomes) {
  return std::any_of(becomes.begin(), becomes.end(), [](const std::string& one) { return one != "a note"; });
}

/// Sets every number that equals `old` and whose key ends in `key` to `other`, at any depth.
void change_twins(Value& object, const std::string& key, const Value& old, Count other) {
  for (auto& [name, v] : object.items())
    if (v.is_object())
      change_twins(v, key, old, other);
    else if (v == old && name.ends_with(key))
      v = other;
}

/// The list after swapping its first entry with the first entry that differs from it.
Value communicated(Value list) {
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i] != list[0]) {
      std::swap(list[i], list[0]);
      break;
    }
  return list;
}

/// Whether the text is a layer pattern whose length equals a number in the object.
bool is_pattern_of(const Value& object, const Value& text) {
  return std::any_of(object.begin(), object.end(),
                     [&](const Value& v) { return v.is_number_integer() && is_pattern(text, v.get<Count>()); });
}
/// The string after swapping its first letter with the first letter that differs from it.
std::string swapped_letters(std::string text) {
  const std::size_t other = text.find_first_not_of(text.front());
  if (other != std::string::npos) std::swap(text[0], text[other]);
  return text;
}

/// A list of whole numbers, each doubled or halved.
Value scaled(Value list, bool up) {
  for (Value& v : list)
    if (v.is_number_integer() && v >= 0 && v < largest_size) v = up ? 2 * v.get<Count>() : v.get<Count>() / 2;
  return list;
}

/// Variants of the object in which only `key` is changed or removed.
std::vector<Value> others_of(const Value& object, const std::string& key) {
  std::vector<Value> all;
  const Value& v = object[key];
  const auto set = [&](const Value& other) {
    all.push_back(object);
    all.back()[key] = other;
  };
  if (v.is_number_integer() && v >= 0 && v < largest_size) {
    const Count n = v.get<Count>();
    for (const Count other : {2 * n, n + 1, n / 2, n - 1, Count{0}, Count{1}, Count{2}})
      if (other != n && other >= 0) {
        all.push_back(with_count(object, key, other));
        set(other);  // also without resizing, because a string may have the old length by coincidence
      }
  } else if (v.is_number()) {
    set(v.get<double>() * 2);
  } else if (v.is_boolean()) {
    set(!v.get<bool>());
  } else if (v.is_array() && !v.empty()) {
    set(communicated(v));
    set(Value(v.begin(), v.end() - 1));
    for (const bool up : {true, false})
      if (v.front().is_number_integer()) set(scaled(v, up));
  } else if (v.is_string()) {
    for (const char* word : {"float32", "float16", "relu", "gelu", "rope", "nope"}) set(word);
    if (is_pattern_of(object, v)) set(swapped_letters(v.get<std::string>()));
  }
  all.push_back(object);
  all.back().erase(key);
  return all;
}

/// Reason that a key with `word` in its path affects no size.
struct Reason {
  std::string_view word, why;
  bool of_all = false;  ///< whether the reason applies to all families, even those that do not read the key
};
constexpr std::array reasons{
    Reason{"architectures", "model_type determines the family", true},
    Reason{"auto_map", "modeling code", true},
    Reason{"vision", "not part of the text model", true},
    Reason{"audio", "not part of the text model", true},
    Reason{"speech", "not part of the text model", true},
    Reason{"image", "not part of the text model", true},
    Reason{"video", "not part of the text model", true},
    Reason{"rope", "rotary embeddings have no parameters", true},
    Reason{"rotary", "rotary embeddings have no parameters", true},
    Reason{"eps", "norm epsilon affects no size", true},
    Reason{"dropout", "training only; occupies no memory", true},
    Reason{"pdrop", "training only; occupies no memory", true},
    Reason{"aux", "training only; occupies no memory"},
    Reason{"loss", "training only; occupies no memory", true},
    Reason{"init", "weight initialization", true},
    Reason{"token_id", "tokenizer setting", true},
    Reason{"version", "software setting", true},
    Reason{"multiplier", "scaling factor"},
    Reason{"scal", "scaling factor"},
    Reason{"softcap", "soft cap", true},
    Reason{"config_groups", "repeats quant_algo"},
    Reason{"topk", "expert routing, not the number of experts"},
    Reason{"group_norm", "norm groups do not change the number of weights"},
    Reason{"group", "expert routing, not the number of experts"},
    Reason{"window", "no layer has a window"},
    Reason{"use_cache", "runtime setting", true},
    Reason{"output_", "output setting", true},
    Reason{"tokenizer", "tokenizer setting", true},
    Reason{"id2label", "label names", true},
    Reason{"label2id", "label names", true},
    Reason{"pretraining_tp", "runtime setting", true},
};
/// Reason that a key has no effect. `path`: path of the key, including enclosing objects; `read`: whether the
/// importer read the key.
std::string why_nothing(const std::string& path, bool read, std::string_view harmless) {
  for (const Reason& r : reasons)
    if ((read || r.of_all) && path.find(r.word) != std::string::npos) return std::string(r.why);
  if (!harmless.empty()) return std::string(harmless);
  return read ? "no size depends on it" : "not read";
}

bool names_module(const std::string& key) { return key.find('.') != std::string::npos; }

/// The keys of an object that name modules, if there are more than 32; otherwise empty.
std::vector<std::string> many_modules(const Value& object) {
  constexpr std::size_t many = 32;
  std::vector<std::string> all;
  for (const auto& [key, value] : object.items())
    if (names_module(key)) all.push_back(key);
  return all.size() > many ? all : std::vector<std::string>();
}

class Readings {
 public:
  Readings(const Value& config, const std::string& where) : config_(config), now_(*parts_of(config)) {
    const ModelCard card = import_config(config, where);
    unknown_ = card.unknown_keys;
    unread_ = card.unread_keys;
  }

  std::vector<KeyReading> all() {
    std::vector<KeyReading> out;
    read_object(Value::json_pointer(), "", out);
    return out;
  }

 private:
  using Pointer = Value::json_pointer;

  /// Appends the readings of the keys in the object at `at`. Returns whether any key has an effect.
  bool read_object(const Pointer& at, const std::string& prefix, std::vector<KeyReading>& out) {
    bool any = false;
    const std::vector<std::string> modules = many_modules(config_.at(at));
    if (!modules.empty()) {
      out.push_back(modules_reading(at, prefix, modules));
      any = out.back().why.empty();
    }
    for (const auto& [key, value] : config_.at(at).items()) {
      if (!modules.empty() && names_module(key)) continue;
      std::vector<KeyReading> inside;
      if (value.is_object() && !is_unread(prefix + key) && read_object(at / key, prefix + key + ".", inside)) {
        out.insert(out.end(), inside.begin(), inside.end());
        any = true;
        continue;
      }
      out.push_back(reading(at, key, prefix + key));
      any = any || out.back().why.empty();
    }
    return any;
  }

  /// One reading for the keys of all modules, since there may be thousands of them.
  KeyReading modules_reading(const Pointer& at, const std::string& prefix, const std::vector<std::string>& modules) {
    KeyReading r{.key = fmt::format("{}{} and {} more", prefix, modules.front(), modules.size() - 1),
                 .value = config_.at(at)[modules.front()].dump(),
                 .becomes = {},
                 .why = {}};
    Value without = Value::object();
    for (const auto& [key, value] : config_.at(at).items())
      if (!names_module(key)) without[key] = value;
    const std::optional<PartsByPath> parts = parts_with(at, without);
    if (parts) r.becomes = differing(*parts);
    if (!parts) r.becomes = {"checked: the config is rejected without them"};
    if (r.becomes.empty()) r.why = "no size depends on them";
    return r;
  }

  KeyReading reading(const Pointer& at, const std::string& key, const std::string& name) const {
    KeyReading r{.key = name, .value = config_.at(at)[key].dump(), .becomes = {}, .why = {}};
    if (key == "model_type") {
      r.becomes = {"model family"};
      return r;
    }
    bool refused = false, taken = false;
    // A key that was never read has no effect. It is not tried, since trying other values for many unread keys would
    // be slow.
    const bool tried = !is_unread(name);
    for (const Value& other : tried ? others_of(config_.at(at), key) : std::vector<Value>()) {
      const std::optional<PartsByPath> parts = parts_with(at, other);
      refused = refused || !parts;
      taken = taken || (parts && other.contains(key));
      if (parts) r.becomes = differing(*parts);
      if (names_a_part(r.becomes)) return r;
    }
    if (refused) r.becomes = with_twins(at, key, r.becomes);
    if (!r.becomes.empty()) return r;
    if (contains(unknown_, key) || contains(unknown_, name))
      r.why = "not understood, not counted";
    else if (refused && !taken)
      r.becomes = {"checked: other values are rejected"};
    else if (refused)
      r.why = "checked: some values are rejected, and no size depends on the others";
    else
      r.why = why_nothing(name, !is_unread(name), import::harmless_reason(key, config_.at(at)[key]));
    return r;
  }

  static bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }

  /// Whether the key, or an object that contains it, was never read.
  bool is_unread(const std::string& path) const {
    return std::any_of(unread_.begin(), unread_.end(), [&](const std::string& key) {
      return path == key || (path.starts_with(key) && path[key.size()] == '.');
    });
  }

  /// Parts that depend on a number that an encoder's config repeats ("out_hidden_size"), found by changing all
  /// occurrences. Returns `otherwise` if that affects no part.
  std::vector<std::string> with_twins(const Pointer& at, const std::string& key,
                                      std::vector<std::string> otherwise) const {
    const Value& v = config_.at(at)[key];
    if (!v.is_number_integer() || v < 1 || v > largest_size) return otherwise;
    for (const Count other : {2 * v.get<Count>(), v.get<Count>() / 2}) {
      Value whole = config_;
      change_twins(whole, key, v, other);
      const std::optional<PartsByPath> parts = parts_of(whole);
      const std::vector<std::string> becomes = parts ? differing(*parts) : std::vector<std::string>();
      if (names_a_part(becomes)) return becomes;
    }
    return otherwise;
  }

  std::optional<PartsByPath> parts_with(const Pointer& at, const Value& other) const {
    Value whole = config_;
    whole.at(at) = other;
    return parts_of(whole);
  }

  /// Parts that change or disappear in `other`, with their current values.
  std::vector<std::string> differing(const PartsByPath& other) const {
    std::vector<std::string> out;
    for (const auto& [path, value] : now_) {
      const auto at = other.find(path);
      if (at != other.end() && at->second == value) continue;
      out.push_back(path.starts_with(note) ? "a note" : path + " " + shortened(value, 30));
    }
    if (!out.empty()) return out;
    for (const auto& [path, value] : other)
      if (!now_.contains(path) && !path.starts_with(note)) out.push_back("default " + path);
    return out;
  }

  const Value& config_;
  PartsByPath now_;
  std::vector<std::string> unknown_, unread_;
};

}  // namespace

std::vector<KeyReading> key_readings(const Value& config, const std::string& where) {
  import_config(config, where);  // throws if the config is not accepted
  return Readings(config, where).all();
}

}  // namespace llmcalc
