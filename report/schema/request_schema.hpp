#pragma once
/// JSON Schema of requests to ask(), from the rows of commands and options.

#include "report/commands/command.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Commands as requests name them: answered_commands(), with one entry per subcommand of plan.
std::vector<Command> requested_commands();

/// The members of a request for the command, without "command" itself.
json::Value arguments_schema(const Command& command);
/// The members of a request for a comparison: a list of requests, each as in `side`.
json::Value sides_schema(const json::Value& side);

/// The schema of all requests.
json::Value request_schema();

}  // namespace llmcalc
