/// llmcalc_embed_evidence OUTPUT.cpp TRAINING.json INFERENCE.json RUN.json ...: writes the files as C++ source that
/// defines training_lines(), inference_lines() and serving_lines() (published.hpp): a literal per line, which compiles
/// quickly and stays below the longest literal that compilers must take. Runs at build time.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>

#include "text/json.hpp"

namespace {

using namespace llmcalc;

constexpr std::size_t longest_literal = 60000;

std::string literal(std::string_view line) {
  if (line.size() > longest_literal)
    throw InputError(fmt::format("a line of {} bytes is longer than a literal may be: one row per line", line.size()));
  std::string out = "\"";
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7f || c == '?')
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out + "\"";
}

/// The array `name` of the lines of a file, each with its end.
std::string rows(const std::string& name, const std::string& path) {
  const std::string text = json::file_text(path);
  std::string out = fmt::format("constexpr std::string_view {}[] = {{\n", name);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    out += fmt::format("{{{}, {}}},\n", literal(line), line.size());  // its length, so that no compiler counts it
    begin = end;
  }
  return out + "};\n";
}

/// The function `name`, which returns the lines of a file.
std::string table(const std::string& name, const std::string& path) {
  return fmt::format(
      "namespace {{\n{1}}}  // namespace\nstd::span<const std::string_view> {0}() {{ return {0}_rows; }}\n", name,
      rows(name + "_rows", path));
}

/// The function `name`, which returns the lines of several files, each with the file's name without its end.
std::string tables(const std::string& name, std::span<char*> paths) {
  std::string arrays, list;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string array = fmt::format("{}_{}", name, i);
    arrays += rows(array, paths[i]);
    list += fmt::format("{{\"{}\", {}}},\n", std::filesystem::path(paths[i]).stem().string(), array);
  }
  return fmt::format(
      "namespace {{\n{1}constexpr NamedLines {0}_files[] = {{\n{2}}};\n}}  // namespace\n"
      "std::span<const NamedLines> {0}() {{ return {0}_files; }}\n",
      name, arrays, list);
}

void write(const std::string& path, const std::string& source) {
  std::ofstream file(path, std::ios::binary);
  file << source << std::flush;
  if (!file) throw InputError(fmt::format("cannot write '{}'", path));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) throw InputError("usage: llmcalc_embed_evidence OUTPUT.cpp TRAINING.json INFERENCE.json RUN.json ...");
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  write(argv[1],
        "// Written by llmcalc_embed_evidence from evidence/*.json; not to be edited.\n#include "
        "\"evidence/published.hpp\"\n\nnamespace llmcalc {\n" +
            table("training_lines", argv[2]) + table("inference_lines", argv[3]) +
            tables("serving_lines", words.subspan(4)) + "}  // namespace llmcalc\n");
  return 0;
} catch (const std::exception& e) {
  std::fputs(fmt::format("{}\n", e.what()).c_str(), stderr);
  return 1;
}
