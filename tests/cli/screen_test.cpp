// Text reports: verdict first, no line wider than the screen, colors on a terminal only, all digits with --exact.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "presets/builtin.hpp"
#include "report/question.hpp"
#include "report/render/lines.hpp"
#include "report/render/text.hpp"
#include "report/report.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace llmcalc;
using Catch::Contains;

namespace {

/// Sets an environment variable for the object's lifetime.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

/// Reports of every command, for models with experts, windows, latent attention and learned positions.
const std::vector<std::string>& commands_with_reports() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> some{"--help",
                                  "train --help-all",
                                  "explain --help",
                                  "explain",
                                  "explain memory",
                                  "explain ridge h100",
                                  "explain collective",
                                  "explain scaling",
                                  "list models",
                                  "list hardware",
                                  "list dtypes",
                                  "list families",
                                  "accuracy training",
                                  "accuracy memory --rows",
                                  "accuracy inference --rows",
                                  "accuracy --help",
                                  "diagnose tests/cli/logs/vllm-v1.log --hardware h100",
                                  "diagnose tests/cli/logs/vllm-fp8.log --exact",
                                  "diagnose tests/cli/logs/out-of-memory.log llama-3.1-8b --fsdp --dp 8",
                                  "diagnose tests/cli/logs/memory-summary.log llama-3.1-8b --exact",
                                  "diagnose tests/cli/logs/llama-cpp.log",
                                  "diagnose tests/cli/logs/torchtitan.log",
                                  "diagnose --help",
                                  "scaling --compute 5.76e23",
                                  "collective all-reduce --bytes 1GB --ranks 8 --hardware h100 --exact",
                                  "collective all-to-all --bytes 1GB --ranks 64 --hardware h100",
                                  "train llama-3.1-8b --hardware h100 --gpus 64 --tp 8 --sp --tokens 15T --price 2.5 "
                                  "--watts 700 --co2 0.4 --pue 1.2 --measured-tokens-per-s 4e5",
                                  "report gpt-3-175b --hardware a100 --tp 8 --tokens 300B --price 2 --exact",
                                  "train gemma-3-27b --hardware h100 --tp 8 --ops --attention naive --dropout",
                                  "validate docs/examples/tiny-llama.json --micro-batch 2 --seq 32"};
    for (const char* model : {"llama-3.1-405b", "deepseek-v3", "gemma-3-27b", "mixtral-8x7b", "gpt-2-124m"})
      for (const char* question : {"params", "memory", "flops", "train", "infer", "report", "explain all"}) {
        const std::string command = std::string(question) + " " + model;
        const bool bare = command.starts_with("params"), explained = command.starts_with("explain");
        const std::string plan = bare || command.starts_with("flops") ? "" : " --hardware h200";
        some.push_back(command + plan + (command.starts_with("memory") ? " --train" : ""));
        if (!bare && !explained) some.push_back(command + plan + " --ops");
        if (!explained) some.push_back(command + plan + " --exact");
      }
    return some;
  }();
  return all;
}

}  // namespace

TEST_CASE("no line of text output is wider than the screen", "[screen][cli][every]") {
  for (const std::size_t columns : {80, 120}) {
    const Variable set("COLUMNS", std::to_string(columns));
    std::size_t place = 0;
    for (const std::string& command : commands_with_reports()) {
      if (place++ % 3 != 0 && columns != 80) continue;  // at 120 columns, every third report suffices
      const test::Ran r = test::llmcalc(command);
      INFO("COLUMNS=" << columns << " llmcalc " << command << "\n" << r.err);
      REQUIRE_FALSE(r.out.empty());
      for (const std::string& line : lines(r.out)) {
        INFO(line);
        CHECK(columns_of(line) <= columns);
      }
    }
  }
}

TEST_CASE("a report leads with its verdict, with one line each for fit, time and bottleneck", "[screen][cli]") {
  const std::vector<std::string> train = lines(test::llmcalc("train llama-3.1-8b --hardware h200 --tp 8 --full").out);
  REQUIRE(train.size() > 8);
  CHECK_THAT(train[2], Catch::Matches("fits +yes: about [0-9.]+ of [0-9.]+ GiB per GPU \\([0-9.]+ to [0-9.]+ GiB\\)"));
  CHECK_THAT(train[3], Catch::Matches("tensors +[0-9.]+ of [0-9.]+ GiB per GPU, activations [0-9.]+ GiB; with .*"));
  CHECK_THAT(train[4], Catch::Matches("time +[0-9.]+ m?s per step \\([0-9.]+ to [0-9.]+ m?s\\), [0-9.]+ % MFU, "
                                      "[0-9,.]+ tokens/s"));
  CHECK_THAT(train[5], Catch::Matches("bound by +compute, +[0-9.]+ % of the step"));
  CHECK_THAT(train[6], Catch::Matches("spent on +matmuls [0-9.]+ %, .*"));
  CHECK_THAT(train[7], Catch::Matches("helps +10 % better matmul peak -[0-9.]+ %, link -[0-9.]+ %, .*"));
  CHECK(train[8].empty());

  const json::Value infer = test::ask("infer llama-3.1-8b --hardware h100 --efficiency 0.5")["verdict"]["text"];
  REQUIRE(infer.size() == 3);
  CHECK_THAT(infer[0].get<std::string>(), Catch::StartsWith("fits: yes: "));
  CHECK_THAT(infer[1].get<std::string>(), Catch::StartsWith("time: ") && Contains(" to first token, then "));
  CHECK(infer[2] == "bound by: compute in prefill, memory in decode");
}

TEST_CASE("the report of a plan that does not fit leads with the verdict and marks its cost lines", "[screen][cli]") {
  const std::string plan = "train gpt-3-175b --hardware a100 --gpus 1024 --tp 8 --tokens 300B --price 2";
  const std::vector<std::string> all = lines(test::llmcalc(plan).out);
  REQUIRE(all.size() > 5);
  CHECK_THAT(all[2], Catch::StartsWith("fits") && Contains("no: ") && Contains("optimizer "));
  for (const std::string& line : all) {
    CHECK_FALSE(line.starts_with("run "));
    if (line.starts_with("  cost ") || line.starts_with("  GPU-hours")) CHECK_THAT(line, Contains("does not fit"));
  }
  const json::Value fitting =
      test::ask("train llama-3.1-8b --hardware h100 --gpus 64 --tp 8 --sp --recompute full --tokens 1T --price 2");
  CHECK(fitting["memory"]["fits"] == true);
  CHECK_THAT(fitting["verdict"]["text"].back().get<std::string>(),
             Catch::Matches("run: [0-9.]+ days \\([0-9.]+ to [0-9.]+ days\\), [0-9,.]+ GPU-hours, [0-9,]+ USD "
                            "\\([0-9,]+ to [0-9,]+ USD\\)"));
}

TEST_CASE("a memory report without a device leads with the bytes needed", "[screen][cli]") {
  CHECK_THAT(test::ask("memory llama-3.1-8b --infer")["verdict"]["text"][0].get<std::string>(),
             Catch::Matches("needs: [0-9.]+ GiB per GPU, weights [0-9.]+ GiB"));
}

TEST_CASE("bold and colors appear on a terminal only, and not with NO_COLOR", "[screen][cli]") {
  const std::string plan = "infer llama-3.1-70b --hardware h100";
  const std::string escape = "\033[";
  CHECK_THAT(test::llmcalc(plan).out, !Contains(escape));
  CHECK_THAT(test::on_terminal(plan, 100), Contains(escape + "1m") && Contains(escape + "31m"));
  CHECK_THAT(test::on_terminal("infer llama-3.1-8b --hardware h100", 100), !Contains(escape + "31m"));
  CHECK_THAT(test::on_terminal(plan + " --json", 100), !Contains(escape));
  const Variable set("NO_COLOR", "1");
  CHECK_THAT(test::on_terminal(plan, 100), !Contains(escape) && Contains("fits"));
}

TEST_CASE("output uses the width of the terminal", "[screen][cli]") {
  const Variable set("NO_COLOR", "1");
  std::size_t before = 0;
  for (const unsigned short columns : std::array<unsigned short, 3>{60, 90, 140}) {
    std::size_t widest = 0;
    for (const std::string& line : lines(test::on_terminal("flops gpt-3-175b", columns)))
      widest = std::max(widest, columns_of(line) - (line.ends_with('\r') ? 1 : 0));
    INFO(columns);
    CHECK(widest <= columns);
    CHECK(widest >= before);
    before = widest;
  }
}

TEST_CASE("--exact shows every digit, and JSON always shows every digit", "[screen][cli]") {
  const std::string command =
      "memory llama-3.1-8b --infer";  // 8,030,261,248 parameters of 2 bytes, from its model card
  const std::string weights = "16,060,522,496";
  CHECK_THAT(test::llmcalc(command).out, !Contains(weights) && Contains("14.96 GiB"));
  CHECK_THAT(test::llmcalc(command + " --exact").out, Contains(weights) && Contains("14.96 GiB"));
  CHECK_THAT(test::llmcalc(command + " --markdown").out, !Contains(weights));
  CHECK_THAT(test::llmcalc(command + " --exact --markdown").out, Contains("| " + weights + " |"));
  CHECK(test::llmcalc("--exact " + command).out == test::llmcalc(command + " --exact").out);
  CHECK(test::ask(command)["inference_memory"]["weights_bytes"] == 16060522496);
  CHECK(test::llmcalc(command + " --exact --json").code == 2);
  CHECK(test::llmcalc("list models --exact").code == 2);
}

TEST_CASE("lists of models and devices show the numbers that help to choose", "[screen][cli]") {
  const json::Value models = test::ask("list models")["models"], devices = test::ask("list hardware")["devices"];
  CHECK(models.size() == builtin_models().size());
  CHECK(devices.size() == builtin_hardware().size());
  const auto find = [](const json::Value& all, const char* name) {
    return *std::find_if(all.begin(), all.end(), [&](const json::Value& v) { return v["name"] == name; });
  };
  const json::Value mixtral = find(models, "mixtral-8x7b");
  CHECK(mixtral["parameters"] == 46702792704);         // from its checkpoint
  CHECK(mixtral["active_parameters"] == 12879925248);  // minus 6 of 8 experts of 3 x 4096 x 14336, in 32 layers
  CHECK(mixtral["context_tokens"] == 32768);
  CHECK(mixtral["kv_cache_bytes_per_token"] == 131072);  // 2 x 8 heads x 128 x 32 layers x 2 bytes
  const json::Value h100 = find(devices, "h100-sxm-80gb");
  CHECK(h100["memory_bytes"] == 80 * (1LL << 30));
  CHECK(h100["memory_bytes_per_s"] == 3.35e12);
  CHECK(h100["ridge_flops_per_byte"].get<double>() == Approx(989.4e12 / 3.35e12));
  CHECK(h100["power_w"] == 700);
  CHECK(h100["price_usd_per_h"].get<double>() > 0);
  CHECK_FALSE(find(devices, "rtx-4090").contains("ridge"));
  CHECK_THAT(test::llmcalc("list models").out, Contains("mixtral-8x7b") && Contains("46.70 B") && Contains("12.88 B"));
}

TEST_CASE("lines break between words, never within one", "[screen]") {
  CHECK(broken("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(broken("  indented stays", 16) == std::vector<std::string>{"  indented stays"});
  CHECK(broken("  indented stays", 11) == std::vector<std::string>{"  indented", "stays"});
  CHECK(broken("a-word-that-is-longer than this", 8) ==
        std::vector<std::string>{"a-word-that-is-longer", "than", "this"});
  CHECK(wrapped("note: ", "one two three", 13) == "note: one two\n      three\n");
  CHECK(columns_of("2.5 \xc2\xb5s") == 6);
}

TEST_CASE("a grid that is too wide wraps its headings first, then its cells between words", "[screen]") {
  const Grid g{.key = "", .title = "", .columns = {"name", "long heading"}, .rows = {{"one two three four five", "7"}}};
  CHECK(grid_text(g, {.columns = 80}) ==
        "  name                     long heading\n  one two three four five             7\n");
  CHECK(grid_text(g, {.columns = 36}) ==
        "  name                        long\n                           heading\n  one two three four five        7\n");
  CHECK(
      grid_text(g, {.columns = 32}) ==
      "  name                      long\n                         heading\n  one two three four           7\n  five\n");
  const Grid named{.key = "",
                   .title = "",
                   .columns = {"name", "n"},
                   .rows = {{"a-name-of-twenty-five-columns", "7"}, {"short", "8"}}};
  CHECK(grid_text(named, {.columns = 24}) ==
        "  name                 n\n  a-name-of-twenty-five-columns\n                       7\n  short                "
        "8\n");
}

TEST_CASE("a grid that is too wide drops its spare columns before those that distinguish rows", "[screen]") {
  const Grid g{.key = "",
               .title = "plans",
               .columns = {"plan", "how", "step", "MFU"},
               .left = 2,
               .spare = {"MFU"},
               .rows = {{"a plan of many words", "recompute some layers", "12.98 ms", "6.8 %"}}};
  CHECK_THAT(grid_text(g, {.columns = 80}), Contains("MFU") && Contains("how"));
  const std::string narrow = grid_text(g, {.columns = 47});
  CHECK_THAT(narrow, Contains("plans; MFU on a wider screen"));
  CHECK_THAT(narrow, Contains("how") && !Contains("6.8 %"));
}
