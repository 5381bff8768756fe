// docs/adding.md shows code that is compiled: its examples stand beside this file, or in the program itself.

#include <filesystem>
#include <fstream>
#include <sstream>

#include "presets/load.hpp"
#include "tests/catch.hpp"

using namespace llmcalc;

namespace {

const std::filesystem::path source = LLMCALC_SOURCE_DIR;

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream all;
  all << std::ifstream(file).rdbuf();
  return all.str();
}

/// The code of a page, without the lines of ``` around it.
std::vector<std::string> blocks(const std::string& page) {
  std::vector<std::string> all;
  std::istringstream lines(page);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const bool fence = line.starts_with("```");
    if (fence && !inside) all.emplace_back();
    if (!fence && inside) all.back() += line + "\n";
    inside = inside != fence;
  }
  return all;
}

/// Everything that a compiler or a test reads in these folders.
std::string code_in(const std::vector<std::string>& folders) {
  std::string all;
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / folder))
      if (entry.is_regular_file()) all += text_of(entry.path());
  return all;
}

}  // namespace

TEST_CASE("every example of docs/adding.md is code that is compiled", "[adding]") {
  const std::string code = code_in({"calc", "presets", "ask", "report", "tests/adding"});
  const std::vector<std::string> examples = blocks(text_of(source / "docs/adding.md"));
  CHECK(examples.size() >= 10);
  for (const std::string& example : examples) {
    INFO(example);
    CHECK(code.find(example) != std::string::npos);
  }
}

TEST_CASE("the example of a hardware file is one", "[adding]") {
  const HardwareCard x100 = load_hardware((source / "tests/adding/x100-pcie-48gb.json").string());
  CHECK(x100.cluster.device.memory == Bytes(Count{48} << 30));
  CHECK(x100.cluster.device.peak(dtypes::bf16).value == 400e12);
}
