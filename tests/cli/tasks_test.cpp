// docs/tasks.md: commands whose answer fits the first screen.

#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;

namespace {

/// Arguments of the commands in a page: "`llmcalc ARGUMENTS`".
std::vector<std::string> commands_in(const std::string& page) {
  std::vector<std::string> all;
  const std::string start = "`llmcalc ";
  for (std::size_t at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
    const std::size_t begin = at + start.size();
    all.push_back(page.substr(begin, page.find('`', begin) - begin));
  }
  return all;
}

}  // namespace

TEST_CASE("the answer to every common task fits on a screen of 80 columns and 24 lines", "[screen][cli]") {
  const std::vector<std::string> tasks = commands_in(test::read_file(LLMCALC_SOURCE_DIR "/docs/tasks.md"));
  CHECK(tasks.size() == 25);
  for (const std::string& task : tasks) {
    INFO("llmcalc " << task);
    const test::Ran ran = test::llmcalc(task);
    CHECK(ran.code == 0);
    std::istringstream lines(ran.out);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) CHECK(line.size() <= 80);
    CHECK(count <= (task.starts_with("fit") ? 30U : 24U));
    CHECK(count > 0);
  }
}

TEST_CASE("short answers have at most 16 lines", "[screen][cli]") {
  for (const char* model : {"llama-3.1-405b", "deepseek-v3", "gemma-3-27b", "gpt-2-124m", "falcon-h1-0.5b"})
    for (const char* command :
         {"params M", "memory M --hardware h100", "flops M", "train M --hardware h100", "infer M --hardware h100",
          "report M --hardware h100 --tokens 1T", "serve M --hardware h200 --rate 1 --num-requests 20",
          "plan train M --hardware h100 --gpus 8", "compare --of 'infer M --hardware h200' --vs '--batch 2'"}) {
      std::string words = command;
      words.replace(words.find(" M") + 1, 1, model);
      INFO("llmcalc " << words);
      const std::string out = test::llmcalc(words).out;
      CHECK(std::count(out.begin(), out.end(), '\n') <= 16);
    }
}
