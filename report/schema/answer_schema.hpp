#pragma once
/// JSON Schemas of answers: the --json output of one command, and errors.

#include "report/commands/command.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The schema of a command's --json output: the part of report_json_schema() with the command's keys, or the files and
/// launch texts that it prints instead. Precondition: the command has such output (has_answer_schema()).
json::Value answer_schema(const Command& command);

/// Whether the command prints JSON.
bool has_answer_schema(const Command& command);

/// The schema of an error that ask() returns instead of an answer.
json::Value error_schema();

}  // namespace llmcalc
