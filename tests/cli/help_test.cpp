#include <sstream>

#include "cli/command.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

// Outputs generated from the table of options: help, the manual, completions.

namespace {

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string out(const std::string& arguments) {
  const test::Ran r = test::llmcalc(arguments);
  INFO("llmcalc " << arguments << "\n" << r.err);
  CHECK(r.code == 0);
  return r.out;
}

}  // namespace

TEST_CASE("every help text is at most 80 columns wide, and --help-all shows every option", "[help]") {
  CHECK(widest(out("--help")) <= 80);
  for (const Command& c : commands()) {
    const std::string name(c.name), all = out(name + " --help-all");
    INFO(name);
    CHECK(widest(out(name + " --help")) <= 80);
    CHECK(widest(all) <= 80);
    for (const Option& o : c.own) CHECK(has(all, o.flag));
    for (const Option& o : options())
      if ((o.parts & c.parts) != 0) CHECK(has(all, "  " + std::string(o.flag)));
  }
}

TEST_CASE("the help of train leads with the most common options", "[help]") {
  const std::string help = out("train --help");
  std::size_t at = help.find("Hardware and ranks:");
  for (const char* option :
       {"--hardware", "--gpus", "--tp", "--seq", "--global-batch", "--precision", "--tokens", "--json"}) {
    const std::size_t next = help.find(std::string("\n  ") + option + " ", at);
    INFO(option);
    REQUIRE(next != std::string::npos);
    at = next;
  }
  CHECK_FALSE(has(help, "--glu-store"));
  CHECK(has(help, "--help-all"));
  CHECK(out("help train") == help);
}

TEST_CASE("the manual's OPTIONS section matches the option table, and the manual names every command", "[help]") {
  const std::string manual = test::read_file(LLMCALC_SOURCE_DIR "/docs/llmcalc.1");
  const std::size_t begin = manual.find(".SH OPTIONS\n"), end = manual.find(".SH EXIT STATUS\n");
  REQUIRE(begin < end);
  CHECK(manual.substr(begin, end - begin) == out("manual"));  // written by scripts/transcripts
  for (const Command& c : commands()) {
    INFO(c.name);
    CHECK((has(manual, ".BI " + std::string(c.name)) || has(manual, ".BR " + std::string(c.name)) ||
           has(manual, ".B " + std::string(c.name))));
  }
}

TEST_CASE("shell completion offers commands, options, choices and preset names", "[help]") {
  CHECK(has(out("complete ''"), "train\t"));
  CHECK(has(out("complete train llama --"), "\n--seq\ttokens per sequence\n"));
  CHECK(has(out("complete collective --"), "--ranks\t"));
  CHECK(out("complete accuracy ''") == "training\nmemory\ninference\nserving\n");
  CHECK(out("complete accuracy training ''").empty());  // files, completed by the shell
  CHECK_FALSE(has(out("complete infer --"), "--seq"));
  CHECK(out("complete train gpt2 --recompute ''") == "none\nselective\nfull\n");
  CHECK(out("complete validate --device ''") == "cpu\ncuda\n");
  CHECK(has(out("complete train gpt2 --hardware ''"), "h100-sxm-80gb\t"));
  CHECK(has(out("complete train gpt2 --precision ''"), "bf16\tbfloat16\n"));
  CHECK(has(out("complete train --json ll"), "llama-3.1-8b\t"));
  CHECK(has(out("complete collective ''"), "reduce-scatter\n"));
  CHECK(out("complete list ''") == "models\nhardware\nsoftware\ncapabilities\ndtypes\nfamilies\n");
  CHECK(out("complete show h100 ''").empty());
  CHECK(out("complete learn ''").empty());  // a file, completed by the shell
  CHECK(out("complete nothing ''").empty());
}

TEST_CASE("the completion scripts query the program and contain no options", "[help]") {
  for (const char* script : {"llmcalc.bash", "_llmcalc", "llmcalc.fish"}) {
    const std::string text = test::read_file(std::string(LLMCALC_SOURCE_DIR "/scripts/completions/") + script);
    CHECK(has(text, "llmcalc complete"));
    CHECK_FALSE(has(text, "--hardware"));
  }
}

TEST_CASE("output options may precede the command, but other options may not", "[help]") {
  CHECK(out("--json params gpt2") == out("params gpt2 --json"));
  CHECK(out("--markdown params gpt2") == out("params gpt2 --markdown"));
  const test::Ran r = test::llmcalc("--tp 8 params gpt2");
  CHECK(r.code == 2);
  CHECK(r.err == "llmcalc: \"--tp\" precedes the command; use 'llmcalc COMMAND ... --tp'\n");
}
