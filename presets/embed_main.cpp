/// llmcalc_embed LIST NAMES OUTPUT.cpp: writes C++ source that contains the preset files listed in LIST, one path per
/// line, and defines builtin_models(), builtin_hardware() and so on, one function per folder. It also defines
/// name_table(), which returns the contents of the file NAMES. Runs at build time.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "text/json.hpp"
#include "text/names.hpp"

namespace {

using namespace llmcalc;

struct Preset {
  std::string path, name, title, text;
  std::vector<std::string> aliases;
};

/// Maximum length of a string literal in bytes. Compilers are not required to accept literals longer than 65536
/// bytes.
constexpr std::size_t longest_literal = 60000;

Preset preset(const std::string& path) {
  Preset p;
  p.path = path;
  p.text = json::file_text(path);
  const json::Value value = json::parse(p.text, path);
  const json::Object o(value, path);
  p.name = o.text("name");
  p.title = o.text_or("title", p.name);
  if (o.has("aliases")) p.aliases = o.texts("aliases");
  if (p.name != std::filesystem::path(path).stem())
    throw InputError(fmt::format("{}: \"name\" is \"{}\"; rename the file to {}.json", path, p.name, p.name));
  return p;
}

/// Throws InputError if two presets share a name or alias, ignoring case.
void refuse_twice(const std::vector<Preset>& presets) {
  std::map<std::string, std::string> owner;
  const auto claim = [&](const std::string& name, const Preset& p) {
    if (const auto [other, fresh] = owner.emplace(lower(name), p.path); !fresh)
      throw InputError(fmt::format("{}: the name \"{}\" is already used by {}", p.path, name, other->second));
  };
  for (const Preset& p : presets) {
    claim(p.name, p);
    for (const auto& alias : p.aliases) claim(alias, p);
  }
}

/// `text` as a C++ initializer of a const char array.
std::string literal(const std::string& text) {
  std::string out;
  if (text.size() > longest_literal) {
    for (const char c : text) out += fmt::format("'\\{:03o}',", static_cast<unsigned char>(c));
    return "{" + out + "'\\0'}";
  }
  for (const char c : text) {
    if (c == '\n')
      out += "\\n\"\n\"";
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '?')
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return "\"" + out + "\"";
}

std::string definition(const std::string& name, const std::string& text) {
  return fmt::format("constexpr char {}[] = {};\n", name, literal(text));
}

std::string view(const std::string& text) { return fmt::format("std::string_view({})", literal(text)); }

/// Source code of the function `name`, which returns the presets, and of the data that it refers to.
std::string table(const std::string& name, const std::vector<Preset>& presets) {
  std::string data, rows;
  for (std::size_t i = 0; i < presets.size(); ++i) {
    const Preset& p = presets[i];
    const std::string id = fmt::format("{}_{}", name, i);
    data += definition(id, p.text);
    std::string aliases;
    for (const auto& alias : p.aliases) aliases += view(alias) + ", ";
    if (!aliases.empty()) data += fmt::format("constexpr std::string_view {}_aliases[] = {{{}}};\n", id, aliases);
    const std::string span = aliases.empty() ? "{}" : id + "_aliases";
    rows +=
        fmt::format("    {{{}, {}, {}, {{{}, {}}}}},\n", literal(p.name), literal(p.title), span, id, p.text.size());
  }
  if (presets.empty()) return fmt::format("std::span<const Builtin> {}() {{ return {{}}; }}\n\n", name);
  return fmt::format(
      "namespace {{\n{0}constexpr Builtin {1}_rows[] = {{\n{2}}};\n}}  // namespace\n\n"
      "std::span<const Builtin> {1}() {{ return {1}_rows; }}\n\n",
      data, name, rows);
}

/// Presets by folder.
using Presets = std::map<std::string, std::vector<Preset>>;

Presets presets(const std::string& list) {
  Presets all;
  std::istringstream lines(json::file_text(list));
  for (std::string path; std::getline(lines, path);)
    if (!path.empty()) all[std::filesystem::path(path).parent_path().filename()].push_back(preset(path));
  for (auto& [folder, group] : all) {
    std::sort(group.begin(), group.end(), [](const Preset& a, const Preset& b) { return a.name < b.name; });
    refuse_twice(group);
  }
  return all;
}

/// Source code of name_table().
std::string names(const std::string& path) {
  const std::string text = json::file_text(path);
  return fmt::format(
      "namespace {{\n{}}}  // namespace\n\nstd::string_view name_table() {{ return {{names, {}}}; }}\n\n",
      definition("names", text), text.size());
}

std::string tables(const Presets& all) {
  std::string out;
  for (const auto& [folder, group] : all) out += table("builtin_" + folder, group);
  return out;
}

void write(const std::string& path, const std::string& source) {
  std::ofstream file(path, std::ios::binary);
  file << source << std::flush;
  if (!file) throw InputError(fmt::format("cannot write '{}'", path));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw InputError("usage: llmcalc_embed LIST NAMES OUTPUT.cpp");
  const Presets all = presets(argv[1]);
  write(argv[3],
        "// Written by llmcalc_embed from the files in presets/; not to be edited.\n#include \"presets/builtin.hpp\"\n"
        "#include \"presets/names/name_table.hpp\"\n\nnamespace llmcalc {\n\n" +
            tables(all) + names(argv[2]) + "}  // namespace llmcalc\n");
  return 0;
} catch (const std::exception& e) {
  std::fputs(fmt::format("{}\n", e.what()).c_str(), stderr);
  return 1;
}
