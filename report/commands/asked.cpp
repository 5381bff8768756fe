#include "report/commands/asked.hpp"

#include <array>

#include "report/commands/plan.hpp"
#include "report/compare.hpp"

namespace llmcalc {
namespace {

constexpr std::array sides_words{
    Word{"SIDES", "requests of one command; the first is compared with each other", true, true, "sides"}};

constexpr Command compare_requests{.name = compare_name,
                                   .arguments = "SIDES",
                                   .summary = compare_summary,
                                   .about = compare_about,
                                   .examples = "",
                                   .words = sides_words};

}  // namespace

std::vector<Command> asked_commands() {
  std::vector<Command> all;
  for (const Command& c : answered_commands())
    if (c.name != plan_command.name)
      all.push_back(c);
    else
      for (const PlanKind& kind : plan_kinds) all.push_back(command_of(kind));
  all.push_back(compare_requests);
  return all;
}

std::vector<const Option*> asked_options(const Command& command) {
  constexpr Parts output = part::styles | part::exact | part::full | part::records | part::files | part::pictures;
  std::vector<const Option*> all;
  for (const Option* o : options_of(command))
    if ((o->parts == 0 || (o->parts & ~output) != 0) && !takes_file(*o) && o->flag != "--require-fit") all.push_back(o);
  return all;
}

}  // namespace llmcalc
