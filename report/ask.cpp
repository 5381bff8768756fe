#include "report/ask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "calc/units.hpp"
#include "report/commands/arguments.hpp"
#include "report/commands/asked.hpp"
#include "report/compare.hpp"
#include "report/render/render.hpp"
#include "text/error.hpp"
#include "text/file_access.hpp"
#include "text/json_text.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// The remedy for an unknown key of a request.
std::string remedy_for(const std::string& key, const std::vector<std::string>& known) {
  const auto all = options();
  const bool option = std::any_of(all.begin(), all.end(), [&](const Option& o) { return o.key() == key; });
  return option ? "; put it under \"inputs\"" : suggestion(key, known);
}

void refuse_unknown_keys(const json::Value& request) {
  static const std::vector<std::string> known{"command", "model", "hardware", "inputs", "sides", "style"};
  for (const auto& [key, value] : request.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw InputError(fmt::format("{} is not a request key{}", in_quotes(key), remedy_for(key, known)));
  }
}

const Command& command_called(const std::string& name) {
  if (const Command* c = answered_command(name)) return *c;
  std::vector<std::string> known;
  for (const Command& c : asked_commands()) known.emplace_back(c.name);
  throw InputError(fmt::format("\"command\": unknown command {}{}", in_quotes(name), suggestion(name, known)));
}

AnsweredRequest compared(const json::Value& request, Runner& runner) {
  const auto sides = request.find("sides");
  if (sides == request.end() || !sides->is_array() || sides->size() < 2)
    throw InputError("\"sides\": expected a list of at least two requests");
  std::vector<Side> all;
  for (const json::Value& side : *sides)
    all.push_back({fmt::format("side {}", all.size() + 1), json_of(answer_request(side, runner).output)});
  return {{compare(all)}, {.full = false}};
}

/// The request, with the second word of its command as the input "what".
json::Value with_words(json::Value request, const std::string& second) {
  if (second.empty()) return request;
  if (json::Value& inputs = request["inputs"]; inputs.is_object() || inputs.is_null()) inputs["what"] = second;
  return request;
}

}  // namespace

AnsweredRequest answer_request(const json::Value& request, Runner& runner) {
  const NoFileAccess files;
  if (!request.is_object())
    throw InputError("a request must be an object: {\"command\", \"model\", \"hardware\", \"inputs\"}");
  refuse_unknown_keys(request);
  const auto said = request.find("command");
  if (said == request.end() || !said->is_string())
    throw InputError("\"command\" is missing; specify one, such as \"train\"");
  const std::string words = said->get<std::string>();
  const std::size_t space = words.find(' ');
  if (words == compare_name) return compared(request, runner);
  const Command& command = command_called(words.substr(0, space));
  const std::string second = space == std::string::npos ? "" : words.substr(space + 1);
  const Arguments arguments(command, with_words(request, second), Files::refused);
  return {command.answer(arguments, runner), arguments.screen()};
}

namespace {

// ---- Styles

struct NamedStyle {
  std::string_view name;
  Style style;
};
constexpr std::array named_styles{NamedStyle{"json", Style::json}, NamedStyle{"text", Style::text},
                                  NamedStyle{"markdown", Style::markdown}, NamedStyle{"html", Style::html}};

Style style_of(const json::Value& request) {
  const auto style = request.is_object() ? request.find("style") : request.end();
  if (style == request.end()) return Style::json;
  std::string names;
  for (const NamedStyle& s : named_styles) {
    if (*style == s.name) return s.style;
    names += (names.empty() ? "" : "|") + std::string(s.name);
  }
  throw InputError(fmt::format("\"style\": expected {}, got {}", one_of(names), in_quotes(json::shown(*style))));
}

/// The short answer in a style other than JSON, without the hint on options of the command line.
json::Value styled(Output output, Style style) {
  if (auto* report = std::get_if<Report>(&output.content); report != nullptr && report->brief)
    report->brief->more.clear();
  return {{"text", text_of(output, {.style = style, .full = false})}};
}

json::Value answered(const json::Value& request, Runner& runner) {
  const Style style = style_of(request);
  Output output = answer_request(request, runner).output;
  return style == Style::json ? json_of(output) : styled(std::move(output), style);
}

/// The answer's text; a file is printed unchanged.
std::string printed_answer(const json::Value& request, Runner& runner) {
  const Style style = style_of(request);
  Output output = answer_request(request, runner).output;
  return style == Style::json ? text_of(output, {.style = style}) : dump(styled(std::move(output), style));
}

// ---- Errors

/// The input key at the start of a sentence ('"inputs", "tp": ...'); empty if the sentence starts with another word.
std::string key_in(std::string_view sentence) {
  for (const std::string_view of_inputs : {"\"inputs\", \"", "\"inputs\": \""})
    if (sentence.starts_with(of_inputs)) sentence.remove_prefix(of_inputs.size() - 1);
  if (sentence.starts_with('"')) return std::string(sentence.substr(1, sentence.find('"', 1) - 1));
  const Option* o = find_option(sentence.substr(0, sentence.find_first_of(" :")));
  return o == nullptr ? "" : o->key();
}

}  // namespace

json::Value refusal(const std::string& sentence) {
  json::Value error{{"message", sentence}, {"exit_code", 2}};
  if (const std::string key = key_in(sentence); !key.empty()) error["key"] = key;
  return {{"error", std::move(error)}};
}

namespace {

/// The result of `run`, or the error as `as_result` makes it from JSON.
template <typename Run, typename Error>
auto guarded_answer(const Run& run, const Error& as_result) {
  try {
    return run();
  } catch (const InputError& e) {
    return as_result(refusal(e.what()));
  } catch (const Overflow&) {
    return as_result(refusal(overflow_sentence));
  }
}

}  // namespace

json::Value ask(const json::Value& request, Runner& runner) {
  return guarded_answer([&] { return answered(request, runner); }, [](json::Value error) { return error; });
}

json::Value ask(const json::Value& request) {
  Runner serial;
  return ask(request, serial);
}

std::string ask_text(const json::Value& request, Runner& runner) {
  return guarded_answer([&] { return printed_answer(request, runner); }, dump);
}

std::string ask_text(std::string_view request, Runner& runner) {
  return guarded_answer([&] { return ask_text(json::parse(request, "the request"), runner); }, dump);
}

std::string error_text(const std::string& sentence) { return dump(refusal(sentence)); }

}  // namespace llmcalc
