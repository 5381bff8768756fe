#include "report/schema/answer_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "report/commands/questions.hpp"
#include "report/schema/file_schema.hpp"
#include "report/schema/report_schema.hpp"
#include "report/schema/schema_head.hpp"

namespace llmcalc {
namespace {

using json::Value;

std::string keys_in_json(const Command& c) {
  const Question* q = find_question(c.name);
  return q == nullptr ? std::string(c.keys) : answer_keys(*q);
}

/// Removes the members of an object whose keys are not in `kept`.
void keep(Value& object, const std::vector<std::string>& kept) {
  Value all = Value::object();
  for (const auto& [key, value] : object.items())
    if (std::find(kept.begin(), kept.end(), key) != kept.end()) all[key] = value;
  object = std::move(all);
}

/// Removes the table options that the command does not have.
void keep_inputs(Value& inputs, const Command& c) {
  std::vector<std::string> kept{"files", "keys"};
  for (const Option* o : options_of(c)) kept.push_back(o->key());
  keep(inputs["properties"], kept);
}

Value report_form(const Command& c) {
  std::vector<std::string> kept = words_of(keys_in_json(c));
  kept.insert(kept.end(), {"llmcalc", "command", "verdict", "possible", "notes", "notes_keyed"});
  Value schema = report_json_schema();
  for (const char* head : {"$schema", "$id", "title"}) schema.erase(head);
  keep(schema["properties"], kept);
  if (!schema["properties"].contains("differences")) schema.erase("patternProperties");
  if (const auto inputs = schema["properties"].find("inputs"); inputs != schema["properties"].end())
    keep_inputs(*inputs, c);
  schema["properties"]["command"] = {{"const", c.name.substr(0, c.name.find(' '))}};  // "plan" for "plan train"
  return schema;
}

/// The answer to a request with "emit".
Value launch_form() {
  return {{"type", "object"},
          {"properties",
           {{"stack", {{"type", "string"}, {"description", "the software profile"}}},
            {"launch", {{"type", "string"}, {"description", "the command or file that launches the plan"}}}}},
          {"required", {"stack", "launch"}},
          {"additionalProperties", false}};
}

std::vector<Value> forms(const Command& c) {
  std::vector<Value> all;
  if (!keys_in_json(c).empty()) all.push_back(report_form(c));
  if ((c.parts & part::launch) != 0) all.push_back(launch_form());
  for (const std::string& file : words_of(std::string(c.files))) all.push_back(file_form(file));
  return all;
}

}  // namespace

bool has_answer_schema(const Command& command) { return !keys_in_json(command).empty() || !command.files.empty(); }

Value answer_schema(const Command& command) {
  Value schema = schema_head(command.name, fmt::format("answer of '{}'", invocation(command)));
  const std::vector<Value> all = forms(command);
  if (all.size() == 1)
    schema.update(all[0]);
  else
    schema.update({{"type", "object"}, {"anyOf", all}});
  return schema;
}

Value error_schema() {
  Value schema = schema_head("error", "llmcalc error");
  const Value error{{"type", "object"},
                    {"properties",
                     {{"message", {{"type", "string"}, {"description", "one sentence: input, reason, remedy"}}},
                      {"exit_code", {{"const", 2}}},
                      {"key", {{"type", "string"}, {"description", "the input named at the start of the message"}}}}},
                    {"required", {"message", "exit_code"}},
                    {"additionalProperties", false}};
  schema.update({{"type", "object"},
                 {"properties", {{"error", error}}},
                 {"required", {"error"}},
                 {"additionalProperties", false}});
  return schema;
}

}  // namespace llmcalc
