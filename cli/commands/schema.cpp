#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "report/render/render.hpp"
#include "report/schema/named_schema.hpp"
#include "report/schema/report_schema.hpp"

namespace llmcalc {
namespace {

int run_schema(const Arguments& arguments) {
  const std::string name = arguments.word("SCHEMA");
  write_out(dump(name.empty() ? report_json_schema() : named_schema(name, commands())));
  return 0;
}

/// Help of the argument, with the names that are not commands.
const std::string& schema_word_help() {
  static const std::string help =
      fmt::format("a command, for its answer; or {} [answers of all commands]", fmt::join(schema_names({}), ", "));
  return help;
}

}  // namespace

Command schema_command() {
  static const std::array words{Word{"SCHEMA", schema_word_help(), false}};
  return {.name = "schema",
          .arguments = "[SCHEMA]",
          .summary = "JSON Schema of answers and files",
          .about =
              "Prints the JSON Schema (2020-12) of a command's --json output, of requests and errors of ask(), or of a "
              "kind of file.",
          .examples = "  llmcalc schema train\n  llmcalc schema hardware > hardware.schema.json",
          .words = words,
          .parts = part::help,
          .run = run_schema};
}

}  // namespace llmcalc
