#include "report/commands/launch.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "ask/answer/serving/placement.hpp"
#include "ask/request/launch/print.hpp"
#include "ask/request/machine.hpp"
#include "ask/request/software.hpp"
#include "presets/launch/shell_words.hpp"
#include "presets/load.hpp"
#include "report/commands/questions.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

bool is_file(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(name, ignored);
}

/// The name of a GGUF file: "./llama-3.1-8b-q4_k_m.gguf" for a preset, otherwise as typed.
std::string gguf_name(const Request& r, const std::string& typed) {
  const bool is_preset = find_builtin(builtin_models(), typed) != nullptr;
  const json::Value inputs = inputs_json(r);
  const auto format = inputs.find("weight_precision");
  if (!is_preset || format == inputs.end() || !format->is_string()) return typed;
  const std::string text = format->get<std::string>();
  return fmt::format("./{}-{}.gguf", r.model.name, lower(text.substr(text.find(':') + 1)));
}

std::string name_in_stack(const Request& r, const SoftwareCard& stack, const std::string& typed) {
  if (is_file(typed)) return typed;
  if (stack.gguf_weights) return gguf_name(r, typed);
  if (typed.find('/') != std::string::npos) return typed;
  const std::string hub = hub_name(r.model);
  return hub.empty() ? typed : hub;
}

std::string stacks_with_tables() {
  std::string all;
  for (const Builtin& b : builtin_software())
    if (load_software(b.name).launch) all += (all.empty() ? "" : ", ") + std::string(b.name);
  return all;
}

/// The card of the stack at the request's version.
SoftwareCard stack_in(const Request& r, const std::string& name) {
  SoftwareCard card = load_software(name);
  if (!card.launch)
    throw InputError(
        fmt::format("--emit {}: this stack has no launch table; these have one: {}", card.name, stacks_with_tables()));
  for (const auto& used : {r.software, r.engine})
    if (used && used->name == card.name) return *used;
  throw InputError(fmt::format("--emit {} differs from --software {}; omit one of them", card.name,
                               r.software ? r.software->name
                               : r.engine ? r.engine->name
                                          : "none"));
}

Output page_of(const std::string& stack, const std::string& text) {
  return {.content =
              Page{.json = {{"stack", stack}, {"launch", text}}, .text = [text](const Screen&) { return text; }}};
}

/// The best plan's command, from the verdict of a search.
std::string command_in(const Output& searched) {
  const auto* report = std::get_if<Report>(&searched.content);
  if (report == nullptr) throw InputError("--emit: stopped before a plan was found");
  for (const Finding& f : report->verdict)
    if (f.label == "command") return f.text;
  const std::string why = report->verdict.empty() ? "no plan was found" : report->verdict.front().text;
  throw InputError(fmt::format("--emit: there is no plan to launch: {}", why));
}

}  // namespace

namespace {

/// The request, with the number of layers that the placement assigns to each of its stages.
Request with_placed_layers(Request r) {
  if (has_stages(r)) r.layout.stage_layers = Placement(for_inference(of_one_engine(r))).layers();
  return r;
}

}  // namespace

Output emitted(const Arguments& arguments, const Request& asked) {
  const Request r = with_placed_layers(asked);
  const SoftwareCard stack = stack_in(r, arguments.text("--emit"));
  return page_of(stack.name, launch_text(r, stack, name_in_stack(r, stack, arguments.word("MODEL"))));
}

Output emitted_best(const Arguments& arguments, const Output& searched) {
  ShellCommand words = shell_commands(command_in(searched)).front();
  const Command& command = *answered_command(words[1]);
  words.erase(words.begin(), words.begin() + 2);
  words.insert(words.end(), {"--emit", arguments.text("--emit")});
  const Arguments typed(command, words);
  const Request r = command.name == "serve" ? serving_request(typed) : request(train_question, typed);
  const SoftwareCard stack = stack_in(r, arguments.text("--emit"));
  return page_of(stack.name, launch_text(r, stack, name_in_stack(r, stack, arguments.word("MODEL"))));
}

}  // namespace llmcalc
