#include "report/commands/command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/commands/questions.hpp"
#include "report/render/html.hpp"
#include "report/render/render.hpp"
#include "text/names.hpp"

namespace llmcalc {

std::string Word::request_key() const { return key.empty() ? lower(name) : std::string(key); }

json::Value json_of(const Output& output) {
  if (const auto* report = std::get_if<Report>(&output.content)) return report_json(*report);
  const auto* page = std::get_if<Page>(&output.content);
  return page == nullptr ? json::Value() : page->json;
}

std::string text_of(const Output& output, const Screen& screen) {
  if (const auto* report = std::get_if<Report>(&output.content)) return render(*report, screen);
  const auto* page = std::get_if<Page>(&output.content);
  if (page == nullptr) return {};
  if (screen.style == Style::html) return preformatted_html(page->text({.columns = screen.columns}));
  return screen.style == Style::json && !page->verbatim ? dump(page->json) : page->text(screen);
}

std::string invocation(const Command& c) {
  return c.name.empty() ? std::string(c.program) : fmt::format("{} {}", c.program, c.name);
}

std::vector<const Option*> options_of(const Command& command) {
  std::vector<const Option*> all;
  for (const Option& o : command.own) all.push_back(&o);
  for (const Option& o : options())
    if ((o.parts & command.parts) != 0) all.push_back(&o);
  return all;
}

const Option* option_of(const Command& command, std::string_view flag) {
  for (const Option* o : options_of(command))
    if (o->flag == flag) return o;
  return nullptr;
}

bool takes_file(const Option& o) {
  return o.value.find("FILE") != std::string_view::npos || o.value.find("DIR") != std::string_view::npos;
}

std::span<const Command> answered_commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> commands = question_commands();
    commands.insert(commands.end(), {plan_command, serve_command, fit_command, explain_command, diagnose_command,
                                     scaling_command, collective_command, list_command, show_command, import_command});
    return commands;
  }();
  return all;
}

const Command* answered_command(std::string_view name) {
  const auto all = answered_commands();
  const auto c = std::find_if(all.begin(), all.end(), [&](const Command& o) { return o.name == name; });
  return c == all.end() ? nullptr : &*c;
}

}  // namespace llmcalc
