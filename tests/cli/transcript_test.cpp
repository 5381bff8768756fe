#include <filesystem>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

// Whole outputs. Each transcript is a command and what it prints, to the letter; scripts/transcripts writes them anew,
// and the difference is then read by a person. The README's outputs are held the same way.

namespace {

struct Transcript {
  std::string command, output;
};

/// "$ llmcalc ARGUMENTS" and the lines up to `end`.
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

TEST_CASE("every golden transcript is what the program prints", "[golden][cli]") {
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

TEST_CASE("the README's outputs are what the program prints", "[golden][cli]") {
  const std::vector<Transcript> found = transcripts(test::read_file(LLMCALC_SOURCE_DIR "/README.md"), "```");
  REQUIRE_FALSE(found.empty());
  for (const Transcript& t : found) holds(t);
}

TEST_CASE("docs/formulas.md is the cheat sheet that the program prints", "[golden][cli]") {
  CHECK(test::llmcalc("explain --markdown").out == test::read_file(LLMCALC_SOURCE_DIR "/docs/formulas.md"));
}

TEST_CASE("no line of text is wider than 100 columns", "[golden][cli]") {
  for (const char* command :
       {"report llama-3.1-405b --hardware h100 --tp 8", "report deepseek-v3 --hardware h200 --tp 8", "--help",
        "report gpt-3-175b --hardware a100 --tp 8 --tokens 300B --price 2 --watts 400", "list models", "list hardware",
        "train --help", "scaling --compute 5.76e23", "collective all-to-all --bytes 1GB --ranks 64 --hardware h100",
        "infer gemma-3-27b --hardware h100 --ops"}) {
    const std::string out = test::llmcalc(command).out;
    REQUIRE_FALSE(out.empty());
    for (std::size_t at = 0; at < out.size();) {
      const std::size_t end = out.find('\n', at);
      const std::string line = out.substr(at, end - at);
      const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      INFO("llmcalc " << command << "\n" << line);
      CHECK((columns <= 100 || line.starts_with("note: ") || line.find("fit") != std::string::npos));
      at = end + 1;
    }
  }
}
