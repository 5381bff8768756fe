// Every code example in docs/adding.md is compiled, either in this folder or in the program.

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

/// The code blocks of a page, without their ``` lines.
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

/// The concatenated text of all files in these folders.
std::string code_in(const std::vector<std::string>& folders) {
  std::string all;
  for (const std::string& folder : folders)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / folder))
      if (entry.is_regular_file()) all += text_of(entry.path());
  return all;
}

}  // namespace

TEST_CASE("every example in docs/adding.md is compiled code", "[adding]") {
  const std::string code = code_in({"calc", "presets", "ask", "report", "tests/adding"});
  const std::vector<std::string> examples = blocks(text_of(source / "docs/adding.md"));
  CHECK(examples.size() >= 10);
  for (const std::string& example : examples) {
    INFO(example);
    CHECK(code.find(example) != std::string::npos);
  }
}

TEST_CASE("the example hardware file loads", "[adding]") {
  const HardwareCard x100 = load_hardware((source / "tests/adding/x100-pcie-48gb.json").string());
  CHECK(x100.cluster.device.memory == Bytes(Count{48} << 30));
  CHECK(x100.cluster.device.peak(dtypes::bf16).value == 400e12);
}
