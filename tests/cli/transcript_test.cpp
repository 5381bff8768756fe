#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

// Whole outputs. Each transcript is a command and its exact output. scripts/transcripts regenerates them, and a person
// reviews the difference. Outputs in the README and in pages of docs/ are checked in the same way.

namespace {

struct Transcript {
  std::string command, output;
};

/// Each "$ llmcalc ARGUMENTS" and the lines up to `end`.
std::vector<Transcript> transcripts(const std::string& text, const std::string& end) {
  std::vector<Transcript> found;
  const std::string prompt = "$ llmcalc ";
  for (std::size_t at = text.find(prompt); at != std::string::npos; at = text.find(prompt, at + 1)) {
    const std::size_t line = text.find('\n', at);
    const std::size_t stop = end.empty() ? text.size() : text.find(end, line);
    found.push_back(
        {text.substr(at + prompt.size(), line - at - prompt.size()), text.substr(line + 1, stop - line - 1)});
  }
  return found;
}

void holds(const Transcript& t) {
  const test::Ran r = test::llmcalc(t.command);
  INFO("llmcalc " << t.command << "\n" << r.err);
  CHECK(r.out == t.output);
}

}  // namespace

TEST_CASE("every golden transcript matches the program's output", "[golden][cli]") {
  std::size_t held = 0;
  for (const auto& file : std::filesystem::directory_iterator(LLMCALC_SOURCE_DIR "/tests/golden")) {
    if (file.path().extension() != ".txt") continue;
    const std::vector<Transcript> found = transcripts(test::read_file(file.path().string()), "");
    REQUIRE(found.size() == 1);
    holds(found[0]);
    ++held;
  }
  CHECK(held >= 12);
}

TEST_CASE("program output quoted in documentation pages matches the program", "[golden][cli]") {
  for (const char* page :
       {"/README.md", "/docs/clusters.md", "/docs/diagnose.md", "/docs/models.md", "/docs/tutorial.md"}) {
    const std::vector<Transcript> found = transcripts(test::read_file(std::string(LLMCALC_SOURCE_DIR) + page), "```");
    REQUIRE_FALSE(found.empty());
    for (const Transcript& t : found) holds(t);
  }
}

TEST_CASE("docs/formulas.md matches the printed cheat sheet", "[golden][cli]") {
  CHECK(test::llmcalc("explain --all --markdown").out == test::read_file(LLMCALC_SOURCE_DIR "/docs/formulas.md"));
}
