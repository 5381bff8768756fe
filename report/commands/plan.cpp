#include "report/commands/plan.hpp"

#include <fmt/format.h>

#include <array>

#include "calc/choice.hpp"
#include "report/commands/launch.hpp"
#include "search/largest.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Options of this command that apply only to training.
constexpr std::array of_training{"--objective", "--max-gpus", "--largest", "--deadline", "--measured-plan", "--pareto"};

/// The search's answer; with --emit, the launch text of its best plan.
Output of_plan(const Arguments& arguments, Output searched) {
  return arguments.has("--emit") ? emitted_best(arguments, searched) : std::move(searched);
}

Output answer_plan(const Arguments& arguments, Runner& runner) {
  const std::string what = arguments.word("WHAT");
  if (what != "train" && what != "serve")
    throw InputError(
        fmt::format("'llmcalc plan' plans training or serving: use 'llmcalc plan train MODEL ...' or 'llmcalc plan "
                    "serve MODEL ...', got {}",
                    in_quotes(what)));
  if (!arguments.has("--hardware"))
    throw InputError("'llmcalc plan' needs --hardware HW; 'llmcalc list hardware' lists the presets");
  if (what == "train") return of_plan(arguments, plan_train(arguments, runner));
  for (const char* option : of_training)
    if (arguments.has(option))
      throw InputError(fmt::format("{} applies only to 'llmcalc plan train'; omit it", option));
  return of_plan(arguments, plan_serve(arguments, runner));
}

constexpr std::array plan_words{Word{"WHAT", "train or serve"}, Word{"MODEL", model_meaning}};
constexpr std::array plan_options{
    Option{"--objective", "NAME", "quantity to minimize: time, cost, energy or memory [time]"},
    Option{"--max-gpus", "N", "instead of --gpus: try 1, 2, 4, ... GPUs up to N, and N itself, and show the best"},
    Option{"--largest", choice_names<Largest>,
           "largest value that fits, all else unchanged, and the best plans for it"},
    Option{"--top", "K", "number of plans to show [10]"},
    Option{
        "--deadline", "DAYS",
        "fewest GPUs, up to --gpus or --max-gpus, that train on --tokens within DAYS; with several --hardware names, "
        "the best device that meets the deadline"},
    Option{"--measured-plan", "OPTIONS",
           "the plan on which --measured-tokens-per-s was measured, in quotes: '--gpus 64 --tp 8'; omitted options are "
           "taken from this command"},
    Option{"--pareto", "", "also show plans that use less memory but take longer"}};

}  // namespace

namespace {

constexpr std::string_view about_train =
    "Searches all layouts of a training run on --gpus and lists those that fit, best first, with their step time. "
    "Several names in --hardware (h100,h200), or 'any' for all hardware, are compared by the cost of training on "
    "--tokens. Parallel sizes that are set (--tp 8) are fixed; all others are searched.";
constexpr std::string_view about_serve =
    "Finds the fewest GPUs, the cheapest hardware and the Pareto front that meet --slo-ttft and --slo-tpot under a "
    "load (--rate, --users or --requests). Parallel sizes that are set (--tp 8) are fixed; all others are searched.";
constexpr std::string_view train_examples =
    "  llmcalc plan train llama-3.1-8b --hardware h100 --gpus 64\n"
    "  llmcalc plan train gpt-3-175b --hardware a100 --gpus 1024 --global-batch 1536\n"
    "  llmcalc plan train gpt2 --hardware h100 --max-gpus 256 --objective cost\n"
    "  llmcalc plan train llama-3.1-8b --hardware h100 --gpus 64 --largest sequence\n"
    "  llmcalc plan train gpt2 --hardware any --max-gpus 8 --tokens 1T";
constexpr std::string_view serve_examples =
    "  llmcalc plan serve llama-3.1-70b --hardware h100 --users 100 --slo-tpot 33ms\n"
    "  llmcalc plan serve qwen3-32b --hardware any --rate 5 --slo-ttft 500ms";
constexpr std::array serve_plan_options{Option{"--top", "K", "number of plans to show [10]"}};

}  // namespace

const std::array<PlanKind, 2> plan_kinds{
    PlanKind{"train", "plan train", about_train, train_examples, plan_train_parts, plan_options},
    PlanKind{"serve", "plan serve", about_serve, serve_examples, plan_serve_parts, serve_plan_options}};

Command command_of(const PlanKind& kind) {
  Command c = plan_command;
  c.name = kind.name, c.arguments = "MODEL --hardware HW", c.words = c.words.subspan(1);
  c.about = kind.about, c.examples = kind.examples, c.parts = kind.parts, c.own = kind.own;
  return c;
}

const Command plan_command{
    .name = "plan",
    .arguments = "train|serve MODEL",
    .summary = "best layouts for training or serving",
    .about =
        "train: searches all layouts of a training run on --gpus and lists those that fit, best first, with their step "
        "time. Several names in --hardware (h100,h200), or 'any' for all hardware, are compared by the cost of "
        "training on --tokens. serve: finds the fewest GPUs, the cheapest hardware and the Pareto front that meet "
        "--slo-ttft and --slo-tpot under a load (--rate, --users or --requests). Parallel sizes that are set (--tp 8) "
        "are fixed; all others are searched.",
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
    .keys =
        "model hardware inputs estimate inference_estimate run plans neighbours front nearest rivals left_out numbers "
        "largest tried searched",
    .answer = answer_plan};

}  // namespace llmcalc
