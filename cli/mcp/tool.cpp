#include "cli/mcp/tool.hpp"

#include <algorithm>
#include <vector>

#include "calc/units.hpp"
#include "cli/command.hpp"
#include "cli/mcp/message.hpp"
#include "report/ask.hpp"
#include "report/render/render.hpp"
#include "report/schema/answer_schema.hpp"
#include "report/schema/request_schema.hpp"
#include "text/error.hpp"

namespace llmcalc::mcp {
namespace {

using json::Value;

std::string tool_name(std::string_view command) {
  std::string name(command);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// A side of a comparison, for which the tool of its command has the inputs.
Value side_schema() {
  const Value name_or_object{{"type", {"string", "object"}}};
  return {{"type", "object"},
          {"properties",
           {{"command", {{"type", "string"}, {"description", "\"train\", \"infer\", \"plan train\", ..."}}},
            {"model", name_or_object},
            {"hardware", name_or_object},
            {"inputs", {{"type", "object"}, {"description", "as in the tool of this command"}}}}},
          {"required", {"command"}},
          {"additionalProperties", false}};
}

Value input_schema(const Command& c) {
  return c.name == compare_command.name ? sides_schema(side_schema()) : arguments_schema(c);
}

/// The schema of answers and errors.
Value output_schema(const Command& c) {
  Value answer = answer_schema(c), error = error_schema();
  for (Value* schema : {&answer, &error})
    for (const char* head : {"$schema", "$id", "title"}) schema->erase(head);
  Value forms = answer.contains("anyOf") ? answer["anyOf"] : Value::array({answer});
  forms.push_back(error);
  return {{"type", "object"}, {"anyOf", forms}};
}

/// A result, with JSON text that is not parsed again, because its numbers may have more digits than JSON values hold.
std::string with_structured(const Value& result, const std::string& structured) {
  std::string text = result.dump(-1, ' ', false, Value::error_handler_t::replace);
  text.pop_back();
  return text + ",\"structuredContent\":" + structured + "}";
}

void add_text(Value& content, const std::string& text) { content.push_back({{"type", "text"}, {"text", text}}); }

std::string answered(const AnsweredRequest& a, bool repeats_json) {
  const std::string structured = on_one_line(text_of(a.output, {.style = Style::json}));
  Value content = Value::array();
  add_text(content, text_of(a.output, a.screen));
  for (const std::string& aside : a.output.asides) add_text(content, aside);
  if (repeats_json) add_text(content, structured);
  return with_structured({{"content", content}, {"isError", false}}, structured);
}

std::string refused(const std::string& sentence, bool repeats_json) {
  const Value error = refusal(sentence);
  const std::string structured = on_one_line(dump(error));
  Value content = Value::array();
  add_text(content, sentence);
  if (repeats_json) add_text(content, structured);
  return with_structured({{"content", content}, {"isError", true}}, structured);
}

}  // namespace

std::span<const Tool> tools() {
  static const std::vector<Tool> all = [] {
    std::vector<Command> commands = requested_commands();
    commands.push_back(compare_command);
    std::vector<Tool> made;
    for (const Command& c : commands) made.push_back({tool_name(c.name), c});
    return made;
  }();
  return all;
}

const Tool* find_tool(std::string_view name) {
  const auto all = tools();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Tool& t) { return t.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Value tool_json(const Tool& tool) {
  const Command& c = tool.command;
  return {{"name", tool.name},
          {"title", c.summary},
          {"description", c.about},
          {"inputSchema", input_schema(c)},
          {"outputSchema", output_schema(c)},
          {"annotations",
           {{"title", c.summary},
            {"readOnlyHint", true},
            {"destructiveHint", false},
            {"idempotentHint", true},
            {"openWorldHint", false}}}};
}

Value request_of(const Tool& tool, Value arguments) {
  Value request{{"command", tool.command.name}};
  for (const auto& [key, value] : arguments.items()) {
    if (key == "command") throw ProtocolError(Code::invalid_params, "\"command\" is the tool's name; omit it");
    request[key] = value;
  }
  return request;
}

std::string result_of(const Value& request, Runner& runner, bool repeats_json) {
  try {
    return answered(answer_request(request, runner), repeats_json);
  } catch (const InputError& e) {
    return refused(e.what(), repeats_json);
  } catch (const Overflow&) {
    return refused(std::string(overflow_sentence), repeats_json);
  }
}

}  // namespace llmcalc::mcp
