#include <fmt/format.h>

#include <array>

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "report/commands/arguments.hpp"
#include "report/commands/shares.hpp"
#include "report/fit.hpp"
#include "report/fit_report.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {
namespace {

FitQuestion fit_question(const Arguments& arguments) {
  FitQuestion q{.all_formats = !arguments.word("MODEL").empty()};
  if (const std::string use = arguments.text("--use", "all"); use != "all") q.use = use;
  if (const std::string text = arguments.text("--context"); !text.empty()) {
    if (arguments.has("--prompt"))
      throw InputError("--context covers the prompt and the answer; omit --prompt or --context");
    q.context = parse_positive(text, "--context");
  }
  if (const std::string text = arguments.text("--min-speed"); !text.empty())
    q.min_speed = parse_positive_real(text, "--min-speed");
  return q;
}

/// Fits one model to the device. A model that cannot run under these options gets a reason instead of rows.
ModelFit fit_of(const Arguments& arguments, const FitQuestion& q, const ModelCard& model) {
  try {
    Request r;
    r.model = model;
    arguments.apply(r);
    return model_fit(request_to_fit(std::move(r), q), q);
  } catch (const InputError& e) {
    return {.model = model.name, .why = e.what()};
  }
}

bool is_for(const ModelCard& card, const std::string& use) {
  return use.empty() || (use == "code") == (card.use == "code");
}

std::vector<ModelFit> fits_of(const Arguments& arguments, const FitQuestion& q, Runner& runner) {
  const std::vector<std::string> names = arguments.words_from("MODEL");
  runner.show("evaluating every model");
  if (!names.empty())
    return spread(runner, std::span<const std::string>(names), [&](const std::string& name) {
      return fit_of(arguments, q, names.size() == 1 ? arguments.model() : load_model(name));
    });
  std::vector<ModelCard> cards;
  for (const Builtin& b : builtin_models())
    if (ModelCard card = load_model(b); is_for(card, q.use)) cards.push_back(std::move(card));
  return spread(runner, std::span<const ModelCard>(cards),
                [&](const ModelCard& card) { return fit_of(arguments, q, card); });
}

Output answer_fit(const Arguments& arguments, Runner& runner) {
  if (!arguments.has("--hardware"))
    throw InputError("'llmcalc fit' needs --hardware HW; 'llmcalc list hardware' lists the presets");
  const FitQuestion q = fit_question(arguments);
  return {fit_report(q, fits_of(arguments, q, runner))};
}

constexpr std::array fit_words{Word{"MODEL", "models to show in every format [all built-in models]", false, true}};
constexpr std::array own_fit_options{
    Option{"--context", "N", "tokens per sequence that must fit, prompt plus answer [--prompt plus --generate]"},
    Option{"--min-speed", "X", "minimum tokens per second per sequence [any]"},
    Option{"--use", "chat|code|all", "models for chat or for code [all]"}};

}  // namespace

const Command fit_command{
    .name = "fit",
    .arguments = "[MODEL ...]",
    .summary = "models that fit a device, and speed",
    .about =
        "Lists the models that a device can run, with weight format, memory, longest context and speed: those released "
        "in the last 18 months, starting with those that keep at least 4 bits per weight and generate at least 10 "
        "tokens/s, largest first. --full lists every built-in model, largest first. The device is this machine's "
        "unless --hardware is given.",
    .examples =
        "  llmcalc fit\n"
        "  llmcalc fit --hardware rtx-4090\n"
        "  llmcalc fit --hardware m4-max --context 32k --min-speed 20\n"
        "  llmcalc fit llama-3.1-8b qwen3-14b --hardware rtx-3060",
    .words = fit_words,
    .own = own_fit_options,
    .parts = part::of_inference | part::time | part::hardware | part::machine | part::styles | part::pictures |
             part::full | part::records,
    .keys = "hardware inputs runnable left_out",
    .answer = answer_fit};

}  // namespace llmcalc
