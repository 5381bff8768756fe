#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "ask/request/options/options.hpp"
#include "cli/commit.hpp"
#include "cli/help.hpp"
#include "cli/machine/here.hpp"
#include "cli/output.hpp"
#include "cli/print.hpp"
#include "model/device_error.hpp"
#include "report/commands/plan.hpp"
#include "report/render/render.hpp"
#include "report/report.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

std::vector<Command> make_commands() {
  std::vector<Command> all;
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) all.push_back(*answered_command(name));
  };
  add({"params", "memory", "flops", "train", "infer", "report", "plan", "serve"});
  all.push_back(fit_here());
  add({"explain"});
  all.insert(all.end(), {compare_command, sweep_command, accuracy_command});
  add({"diagnose", "scaling", "collective"});
  all.push_back(list_with_here());
  add({"show"});
  all.insert(all.end(), {verbose_import(), schema_command(), validate_command, learn_command, generate_command,
                         perplexity_command, calibrate_command, check_command, mcp_command});
  return all;
}

const Command& find(const std::string& name) {
  std::vector<std::string> known;
  for (const Command& c : commands()) {
    if (c.name == name) return c;
    known.emplace_back(c.name);
  }
  const std::vector<std::string> near = nearest(name, known, 1);
  throw InputError(fmt::format("unknown command {}{} ('llmcalc --help' shows all)", in_quotes(name),
                               near.empty() ? "" : ", did you mean '" + near[0] + "'?"));
}

bool is_help(std::string_view word) { return word == "-h" || word == "--help" || word == "--help-all"; }

int print_help(const Command& c, bool all) {
  write_out(command_help(c, all));
  return 0;
}

/// Returns the command whose help is shown: 'plan train' and 'plan serve' become separate commands; any other command
/// is unchanged.
Command part_of_plan(const Command& c, Args args) {
  if (c.name != plan_command.name) return c;
  const auto is_typed = [&](const char* word) { return std::find(args.begin(), args.end(), word) != args.end(); };
  for (const PlanKind& kind : plan_kinds)
    if (is_typed(kind.word)) return command_of(kind);
  return c;
}

int run_command(const Command& c, Args args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  const auto help = std::find_if(args.begin(), end, is_help);
  if (help != end) return print_help(part_of_plan(c, args), *help == "--help-all");
  const Arguments arguments(c, args, commands());
  return c.run == nullptr ? answer_and_print(c, arguments) : c.run(arguments);
}

/// Version of the program: "llmcalc 0.2.0 (commit f2785b26)".
std::string version_text() {
  const std::string from = commit().empty() ? "" : fmt::format(" (commit {})", commit());
  return fmt::format("llmcalc {}{}\n", LLMCALC_VERSION, from);
}

/// Output for a word or option that describes the program ("--version", "manual"); absent if the word is a command.
std::optional<std::string> about(Args args) {
  const std::string& first = args[0];
  if (first == "--version") return version_text();
  if (first == "manual") return manual_options();
  if (first == "complete") return completions(args.subspan(1));
  if (is_help(first) || (first == "help" && args.size() == 1)) return program_help();
  return std::nullopt;
}

/// The arguments, with leading style options moved to the end.
std::vector<std::string> in_order(Args args) {
  std::vector<std::string> all(args.begin(), args.end());
  const auto style = [](const std::string& a) {
    return a == "--exact" ||
           std::any_of(style_flags.begin(), style_flags.end(), [&](const StyleFlag& s) { return s.flag == a; });
  };
  std::rotate(all.begin(), std::find_if_not(all.begin(), all.end(), style), all.end());
  return all;
}

/// For "explain --tp", returns the option as the word to explain, not as an option of the command. Absent for other
/// arguments.
std::optional<std::vector<std::string>> option_to_explain(std::string_view command, Args rest) {
  const auto is_own = [&](const Option& o) { return o.flag == rest[0]; };
  if (command != "explain" || rest.size() != 1 || !rest[0].starts_with("--") || is_help(rest[0])) return std::nullopt;
  if (rest[0] == "--json" || rest[0] == "--markdown" ||
      std::any_of(explain_command.own.begin(), explain_command.own.end(), is_own))
    return std::nullopt;
  return std::vector<std::string>{"--", rest[0]};
}

int dispatch(Args args) {
  if (args.empty()) {
    write_out(greeting(read_machine()));
    return 0;
  }
  if (const auto text = about(args)) {
    write_out(*text);
    return 0;
  }
  const std::vector<std::string> all = in_order(args);
  const Args rest = Args(all).subspan(1);
  if (all[0] == "help" && !rest.empty()) return print_help(find(rest[0]), false);
  if (all[0].starts_with("-"))
    throw InputError(fmt::format("{} precedes the command; use 'llmcalc COMMAND ... {}'", in_quotes(all[0]),
                                 printable(all[0]).substr(0, 60)));
  if (const auto asked = option_to_explain(all[0], rest)) return run_command(find(all[0]), *asked);
  return run_command(find(all[0]), rest);
}

int refuse(std::string_view sentence) {
  constexpr std::size_t enough = 4000;
  say("llmcalc: " + printable(sentence.substr(0, enough)));
  return 2;
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> all = make_commands();
  return all;
}

namespace {

template <typename Run>
int guarded(const Run& run) {
  try {
    return run();
  } catch (const PipeClosed&) {
    return 0;
  } catch (const InputError& e) {
    return refuse(e.what());
  } catch (const Overflow&) {
    return refuse(overflow_sentence);
  } catch (const model::DeviceError& e) {
    return refuse(e.what());
  } catch (const std::bad_alloc&) {
    return refuse("out of memory; close other programs, or use a smaller model, batch size or sequence length");
  } catch (const std::exception& e) {  // a bug: every expected error has one of the types caught above
    return refuse(fmt::format("internal error: {}; please report the command and its input files", e.what()));
  }
}

}  // namespace

int run_llmcalc(Args args) {
  return guarded([&] { return dispatch(args); });
}

int run_program(const Command& c, Args args) {
  return guarded([&] { return run_command(c, args); });
}

}  // namespace llmcalc
