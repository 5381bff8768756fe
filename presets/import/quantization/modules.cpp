#include "presets/import/quantization/modules.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

namespace llmcalc::import {

namespace {

/// Prefixes of a language model's module names in checkpoints, with or without encoders, longest first.
constexpr std::array<std::string_view, 8> text_prefixes{"model.language_model.model.",
                                                        "language_model.model.",
                                                        "model.language_model.",
                                                        "model.text_model.",
                                                        "language_model.",
                                                        "text_model.",
                                                        "backbone.",
                                                        "model."};

/// The name or pattern without any prefix from text_prefixes. Prefixes of encoders and MTP modules before "layers." are
/// not removed, because these modules are outside the language model.
std::string in_text_model(const std::string& name) {
  for (const std::string_view prefix : text_prefixes)
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

/// Removes a trailing dot. Some lists contain parts of names, and "model.layers.0." matches the same modules as
/// "model.layers.0".
std::string without_last_dot(std::string name) {
  if (name.ends_with('.')) name.pop_back();
  return name;
}

NameGlob name_glob(const std::string& pattern) {
  return {.begin = pattern.substr(0, pattern.find_first_of("*?[\\")), .module = pattern, .below = pattern + ".*"};
}

bool is_matched(const NameGlob& g, const std::string& path) {
  if (!path.starts_with(g.begin)) return false;
  return fnmatch(g.module.c_str(), path.c_str(), 0) == 0 || fnmatch(g.below.c_str(), path.c_str(), 0) == 0;
}

bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c); });
}

/// The literal prefix of an expression, such as "mlp." for "mlp\\.(gate|up)_proj". Excludes optional and repeated
/// characters.
std::string plain_begin(const std::string& pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size();) {
    const bool dot = pattern.compare(i, 2, "\\.") == 0;
    const std::size_t next = i + (dot ? 2 : 1);
    const bool repeated =
        next < pattern.size() && std::string_view("?*+{").find(pattern[next]) != std::string_view::npos;
    if ((!dot && !is_plain(pattern[i])) || repeated) break;
    out += dot ? '.' : pattern[i];
    i = next;
  }
  return out;
}

/// Whether an expression has alternatives outside brackets.
bool has_alternatives(const std::string& pattern) {
  int depth = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\')
      ++i;
    else if (pattern[i] == '(')
      ++depth;
    else if (pattern[i] == ')')
      --depth;
    else if (pattern[i] == '|' && depth == 0)
      return true;
  }
  return false;
}

/// Compiles an expression. Most expressions have the form ".*name.*" or begin like it, and searching for the name is
/// faster than matching.
NameExpression name_expression(const std::string& pattern) {
  constexpr std::string_view any = ".*";
  NameExpression e{.rest = Expression(pattern), .name = {}};
  if (!pattern.starts_with(any) || has_alternatives(pattern)) return e;
  std::string rest = pattern.substr(any.size());
  if (rest.ends_with(any) && !rest.ends_with("\\.*")) rest.resize(rest.size() - any.size());
  if (rest.empty() || std::string_view("?*+{^").find(rest.front()) != std::string_view::npos) return e;
  e.anywhere = true;
  e.rest = is_plain(rest) ? std::nullopt : std::optional(Expression(rest));
  e.name = plain_begin(rest);
  return e;
}

/// Whether the expression matches at any position. The text must contain its literal prefix.
bool is_matched_anywhere(const NameExpression& e, const std::string& text) {
  if (text.find(e.name) == std::string::npos) return false;
  return !e.rest || e.rest->within(text);
}

bool is_matched(const NameExpression& e, const std::string& path) {
  const auto matches = [&](const std::string& name) {
    return e.anywhere ? is_matched_anywhere(e, name) : e.rest->begins(name);
  };
  return matches(path) || std::any_of(text_prefixes.begin(), text_prefixes.end(),
                                      [&](std::string_view prefix) { return matches(std::string(prefix) + path); });
}

/// Whether a name without its prefix is in the language model's layers, unlike "mtp.layers.0".
bool is_of_layers(const std::string& name) { return name == "layers" || name.starts_with("layers."); }

/// Calls visit(part) for every run of whole dotted segments in `path`, until a call returns true.
template <typename Visit>
bool any_part(const std::string& path, Visit visit) {
  for (std::size_t from = 0; from != std::string::npos;) {
    for (std::size_t to = path.find('.', from); to != std::string::npos; to = path.find('.', to + 1))
      if (visit(path.substr(from, to - from))) return true;
    if (visit(path.substr(from))) return true;
    const std::size_t dot = path.find('.', from);
    from = dot == std::string::npos ? dot : dot + 1;
  }
  return false;
}

}  // namespace

Modules::Modules(const std::vector<std::string>& patterns, bool below) : below_(below) {
  for (const std::string& p : patterns) {
    if (p.starts_with("re:"))
      expressions_.push_back(name_expression(p.substr(3)));
    else if (p.find_first_of("*?[") != std::string::npos)
      globs_.push_back(name_glob(in_text_model(p)));
    else
      names_.insert(in_text_model(without_last_dot(p)));
  }
}

void NamedModules::add(const Modules& set, std::size_t number) {
  for (const std::string& name : set.names()) (set.reaches_below() ? below_ : exact_).emplace(name, number);
}

std::optional<std::size_t> NamedModules::first(const std::string& path) const {
  std::optional<std::size_t> found;
  const auto take = [&](const auto& names, const std::string& name) {
    const auto at = names.find(name);
    if (at != names.end()) found = std::min(found.value_or(at->second), at->second);
  };
  take(exact_, path);
  const bool in_layers = is_of_layers(path);
  if (below_.empty()) return found;
  any_part(path, [&](const std::string& part) {
    if (in_layers || !is_of_layers(part)) take(below_, part);
    return false;
  });
  return found;
}

bool Modules::contain(const std::string& path) const {
  const bool in_layers = is_of_layers(path);
  const auto is_named = [&](const std::string& part) {
    return (in_layers || !is_of_layers(part)) && names_.contains(part);
  };
  if (below_ ? !names_.empty() && any_part(path, is_named) : names_.contains(path)) return true;
  const auto matches = [&](const auto& pattern) { return is_matched(pattern, path); };
  return std::any_of(globs_.begin(), globs_.end(), matches) ||
         std::any_of(expressions_.begin(), expressions_.end(), matches);
}

}  // namespace llmcalc::import
