#include "report/ask.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calc/units.hpp"
#include "report/commands/arguments.hpp"
#include "report/compare.hpp"
#include "report/render/render.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

json::Value answered(const json::Value& request, Runner& runner);

void refuse_unknown_keys(const json::Value& request) {
  static const std::vector<std::string> known{"command", "model", "hardware", "inputs", "sides"};
  for (const auto& [key, value] : request.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw InputError(fmt::format("{} is not a request key{}", in_quotes(key), suggestion(key, known)));
  }
}

const Command& command_called(const std::string& name) {
  if (const Command* c = answered_command(name)) return *c;
  std::vector<std::string> known{"compare"};
  for (const Command& c : answered_commands()) known.emplace_back(c.name);
  throw InputError(fmt::format("\"command\": unknown command {}{}", in_quotes(name), suggestion(name, known)));
}

json::Value compared(const json::Value& request, Runner& runner) {
  const auto sides = request.find("sides");
  if (sides == request.end() || !sides->is_array() || sides->size() < 2)
    throw InputError("\"sides\": expected a list of at least two requests");
  std::vector<Side> all;
  for (const json::Value& side : *sides)
    all.push_back({fmt::format("side {}", all.size() + 1), answered(side, runner)});
  return report_json(compare(all));
}

/// The request, with the second word of its command as the input "what".
json::Value with_words(json::Value request, const std::string& second) {
  if (!second.empty()) request["inputs"]["what"] = second;
  return request;
}

json::Value answered(const json::Value& request, Runner& runner) {
  if (!request.is_object())
    throw InputError("a request must be an object: {\"command\", \"model\", \"hardware\", \"inputs\"}");
  refuse_unknown_keys(request);
  const auto said = request.find("command");
  if (said == request.end() || !said->is_string())
    throw InputError("\"command\" is missing; specify one, such as \"train\"");
  const std::string words = said->get<std::string>();
  const std::size_t space = words.find(' ');
  if (words == "compare") return compared(request, runner);
  const Command& command = command_called(words.substr(0, space));
  const std::string second = space == std::string::npos ? "" : words.substr(space + 1);
  const Arguments arguments(command, with_words(request, second), Files::refused);
  return json_of(command.answer(arguments, runner));
}

/// The input key at the start of a sentence; empty if the sentence starts with another word.
std::string key_in(std::string_view sentence) {
  const std::string_view first = sentence.substr(0, sentence.find_first_of(" :"));
  if (first.size() > 2 && first.front() == '"') return std::string(first.substr(1, first.size() - 2));
  const Option* o = find_option(first);
  return o == nullptr ? "" : o->key();
}

json::Value refusal(const std::string& sentence) {
  json::Value error{{"message", sentence}, {"exit_code", 2}};
  if (const std::string key = key_in(sentence); !key.empty()) error["key"] = key;
  return {{"error", std::move(error)}};
}

}  // namespace

json::Value ask(const json::Value& request, Runner& runner) {
  try {
    return answered(request, runner);
  } catch (const InputError& e) {
    return refusal(e.what());
  } catch (const Overflow&) {
    return refusal(overflow_sentence);
  }
}

json::Value ask(const json::Value& request) {
  Runner serial;
  return ask(request, serial);
}

}  // namespace llmcalc
