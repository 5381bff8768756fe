#include "report/commands/plan.hpp"

#include <fmt/format.h>

#include <array>

#include "calc/choice.hpp"
#include "search/largest.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Options of this command that apply only to training.
constexpr std::array of_training{"--objective", "--max-gpus", "--largest", "--deadline", "--measured-plan", "--pareto"};

Output answer_plan(const Arguments& arguments, Runner& runner) {
  const std::string what = arguments.word("WHAT");
  if (what != "train" && what != "serve")
    throw InputError(
        fmt::format("'llmcalc plan' plans training or serving: give 'llmcalc plan train MODEL ...' or "
                    "'llmcalc plan serve MODEL ...', got {}",
                    in_quotes(what)));
  if (!arguments.has("--hardware"))
    throw InputError("'llmcalc plan' needs --hardware HW; 'llmcalc list hardware' shows what there is");
  if (what == "train") return plan_train(arguments, runner);
  for (const char* option : of_training)
    if (arguments.has(option)) throw InputError(fmt::format("{} is for 'llmcalc plan train'; leave it out", option));
  return plan_serve(arguments, runner);
}

constexpr std::array plan_words{Word{"WHAT", "train or serve"}, Word{"MODEL", model_meaning}};
constexpr std::array plan_options{
    Option{"--objective", "NAME", "what is best: time, cost, energy or memory [time]"},
    Option{"--max-gpus", "N", "instead of --gpus: the best of 1, 2, 4 ... GPUs up to N, and of N"},
    Option{"--largest", choice_names<Largest>,
           "the most of it that fits, all else as given, and the best plans of that"},
    Option{"--top", "K", "plans to show [10]"},
    Option{"--deadline", "DAYS",
           "the fewest GPUs, up to --gpus or --max-gpus, that train --tokens in time; of several --hardware the best "
           "that does"},
    Option{"--measured-plan", "OPTIONS",
           "the plan that --measured-tokens-per-s is of, in quotes: '--gpus 64 --tp 8'; what it leaves out is as here"},
    Option{"--pareto", "", "also the plans that need less memory for more time"}};

}  // namespace

const Command plan_command{
    .name = "plan",
    .arguments = "train|serve MODEL",
    .summary = "the best layouts of a run or a server",
    .about =
        "train: every way to lay a training run over --gpus, the best first: what fits, how long a step takes. Several "
        "names under --hardware (h100,h200), or any, are compared by the cost of the run of --tokens. serve: the "
        "fewest "
        "GPUs, the cheapest hardware and the Pareto front that keep --slo-ttft and --slo-tpot under a load (--rate, "
        "--users or --requests). Degrees that are given (--tp 8) are fixed, all others are searched.",
    .examples =
        "  llmcalc plan train llama-3.1-8b --hardware h100 --gpus 64\n"
        "  llmcalc plan train gpt-3-175b --hardware a100 --gpus 1024 --global-batch 1536\n"
        "  llmcalc plan train mixtral-8x7b --hardware h200 --gpus 64 --objective memory\n"
        "  llmcalc plan train gpt2 --hardware h100 --max-gpus 256 --objective cost\n"
        "  llmcalc plan train llama-3.1-8b --hardware h100 --gpus 64 --largest sequence\n"
        "  llmcalc plan train gpt2 --hardware any --max-gpus 8 --tokens 1T\n"
        "  llmcalc plan serve llama-3.1-70b --hardware any --users 100 --slo-tpot 33ms",
    .words = plan_words,
    .own = plan_options,
    .parts = plan_train_parts | plan_serve_parts,
    .answer = answer_plan};

}  // namespace llmcalc
