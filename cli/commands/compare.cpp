#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ask/request/options/options.hpp"
#include "cli/command.hpp"
#include "cli/print.hpp"
#include "cli/thread_runner.hpp"
#include "presets/load.hpp"
#include "report/commands/questions.hpp"
#include "report/compare.hpp"
#include "report/question.hpp"
#include "report/software_grids.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

bool is_search(const std::vector<std::string>& words) {
  return words.size() > 1 && words[0] == "plan" && words[1] == "train";
}

/// Parsed arguments of the named command.
Arguments typed(std::string_view name, const std::vector<std::string>& words) {
  return Arguments(*answered_command(name), Args(words).subspan(1), commands());
}

/// The report of a typed command: "train llama-3-8b --hardware h100".
Side asked(const std::string& name, const std::vector<std::string>& words) {
  const bool model = !words.empty() && std::any_of(questions().begin(), questions().end(),
                                                   [&](const Question* q) { return q->name == words[0]; });
  if (!is_search(words) && !model)
    throw InputError(
        fmt::format("--of: expected a command with its options (\"train llama-3-8b --hardware h100\"), got {}",
                    in_quotes(fmt::format("{}", fmt::join(words, " ")))));
  const Arguments arguments = typed(words[0], words);
  ThreadRunner runner;
  const Output output = arguments.command().answer(arguments, runner);
  if (output.stopped)
    throw InputError(fmt::format("the search for side '{}' was stopped, so there is nothing to compare", name));
  return {name, json_of(output)};
}

Side saved(const std::string& path) { return {path, json::parse(json::file_text(path), path)}; }

bool is_flag(const std::string& w) { return w.starts_with("--"); }

/// If --vs begins with a model, substitutes it for the model in the words and removes it from `by`.
std::vector<std::string> with_model_of(std::vector<std::string> words, std::vector<std::string>& by) {
  if (by.empty() || is_flag(by[0])) return words;
  const std::string model = typed(words[0], words).word("MODEL");
  *std::find(words.begin() + (is_search(words) ? 2 : 1), words.end(), model) = by[0];
  by.erase(by.begin());
  return words;
}

/// The first side's model and options, replaced or extended by --vs.
std::vector<std::string> replaced(std::vector<std::string> words, std::vector<std::string> by) {
  words = with_model_of(std::move(words), by);
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (!is_flag(by[i])) continue;
    const auto old = std::find(words.begin(), words.end(), by[i]);
    if (old == words.end()) continue;
    const auto value = old + 1;
    words.erase(old, value != words.end() && !is_flag(*value) ? value + 1 : value);
  }
  words.insert(words.end(), by.begin(), by.end());
  return words;
}

/// Gives the other side the same training stack as the first side, so that the sides differ only in --vs. (The
/// default stack depends on the layout.) The default engine depends on the device and may differ.
std::vector<std::string> with_software_of(const Side& first, std::vector<std::string> words) {
  const auto says = [&](const char* flag) { return std::find(words.begin(), words.end(), flag) != words.end(); };
  const json::Object report(first.report, first.name);
  if (!report.has("inputs") || says("--software") || says("--efficiency") || says("--memory-efficiency")) return words;
  const std::string name = report.object("inputs").text_or("software", "");
  if (name.empty()) return words;
  if (load_software(name).training) words.insert(words.end(), {"--software", name});
  return words;
}

/// Removes the measured throughput, which applies to only one plan. The other side has a measured throughput only if
/// --vs sets it.
std::vector<std::string> without_measured(std::vector<std::string> words) {
  const auto at = std::find(words.begin(), words.end(), "--measured-tokens-per-s");
  if (at == words.end()) return words;
  const auto value = words.erase(at);
  if (value != words.end()) words.erase(value);
  return words;
}

/// The other side with the first side's stack, or with the default stack if the first side's stack cannot launch its
/// plan.
Side other_side(const Side& first, const std::string& name, const std::vector<std::string>& words) {
  try {
    return asked(name, with_software_of(first, words));
  } catch (const InputError&) {
    return asked(name, words);
  }
}

Report compared_software(const Arguments& arguments) {
  const std::string a = arguments.word("A"), b = arguments.word("B");
  if (b.empty()) throw InputError("'llmcalc compare --software' needs two stacks, for example vllm@0.10 vllm@0.19");
  Report report;
  report.command = "compare";
  report.grids = {software_differences(a, b)};
  if (report.grids[0].rows.empty()) report.notes = {{"same_keys", fmt::format("{} and {} have the same keys", a, b)}};
  return report;
}

int run_compare(const Arguments& arguments) {
  if (arguments.has("--software")) return print(compared_software(arguments), screen_of(arguments));
  const std::string of = arguments.text("--of");
  const std::vector<std::string> others = arguments.texts("--vs");
  std::vector<Side> sides;
  if (of.empty() != others.empty()) throw InputError("--of and --vs must be used together; pass both");
  if (!of.empty()) {
    const std::vector<std::string> words = words_of(of);
    sides.push_back(asked("first", words));
    for (const std::string& vs : others)
      sides.push_back(other_side(sides[0], vs, replaced(without_measured(words), words_of(vs))));
  }
  for (const char* word : {"A", "B", "C", "D"})
    if (const std::string path = arguments.word(word); !path.empty()) sides.push_back(saved(path));
  if (sides.size() < 2)
    throw InputError(
        "'llmcalc compare' needs two reports saved with --json, or --of and --vs; see --help for examples");
  return print(compare(sides), screen_of(arguments));
}

constexpr std::array compare_words{Word{"A", "a report saved with --json", false}, Word{"B", "another report", false},
                                   Word{"C", "a third report", false}, Word{"D", "a fourth report", false}};
constexpr std::array compare_options{
    Option{"--of", "COMMAND", "quoted command with its options, instead of a file"},
    Option{"--software", "", "A and B are software stacks; list the keys in which they differ"},
    Option{.flag = "--vs",
           .value = "OPTIONS",
           .help = "quoted options that replace or extend those of --of, for another side of the comparison; may start "
                   "with a different model; may be repeated",
           .repeats = true}};

}  // namespace

const Command compare_command{.name = "compare",
                              .arguments = "[A.json B.json ...]",
                              .summary = compare_summary,
                              .about = compare_about,
                              .examples =
                                  "  llmcalc compare one.json other.json\n"
                                  "  llmcalc compare --of 'train gpt2 --hardware h100 --dp 8' --vs '--zero 1'\n"
                                  "  llmcalc compare --of 'infer gpt2 --hardware h200' --vs '--tp 2' --vs '--tp 4'\n"
                                  "  llmcalc compare --of 'train gpt2 --hardware h100' --vs 'llama-3.1-8b --dp 8'\n"
                                  "  llmcalc compare --of 'plan train gpt2 --hardware h100 --gpus 8' --vs '--tp 2'\n"
                                  "  llmcalc compare --software vllm@0.10 vllm@0.19",
                              .words = compare_words,
                              .own = compare_options,
                              .parts = part::styles | part::full | part::records,
                              .keys = "sides differences",
                              .run = run_compare};

}  // namespace llmcalc
