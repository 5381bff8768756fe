#pragma once
/// The tools: the commands of ask(), by their rows.

#include <span>
#include <string>
#include <string_view>

#include "report/commands/command.hpp"
#include "report/commands/runner.hpp"
#include "text/json.hpp"

namespace llmcalc::mcp {

struct Tool {
  std::string name;  ///< "plan_train"
  Command command;
};

std::span<const Tool> tools();
/// The tool of this name; null if unknown.
const Tool* find_tool(std::string_view name);

/// The tool as 'tools/list' describes it: name, title, description, and the schemas of arguments and results.
json::Value tool_json(const Tool& tool);

/// The request to ask() for a call with these arguments. Throws ProtocolError if they name another command.
json::Value request_of(const Tool& tool, json::Value arguments);

/// The result of a request, as text on one line: the short answer, and as "structuredContent" the bytes of --json
/// without spaces. A refused request is a result with "isError". `repeats_json`: whether the content also has the JSON,
/// for revisions without structured content.
std::string result_of(const json::Value& request, Runner& runner, bool repeats_json);

}  // namespace llmcalc::mcp
