#pragma once
/// One function for every front end: maps a JSON request to a JSON answer, without a terminal or files.
///
///   { "command": "train", "model": NAME | {config.json} | {model file}, "hardware": NAME | {hardware file},
///     "inputs": { option key: value } }
///
/// "inputs" may contain "from", a launch command, and "emit", a stack; with "emit" the answer is {"stack", "launch":
/// text}. "command" may be two words ("plan train"). Keys under "inputs" are those in the option table and the
/// positional arguments: "quantity" for explain, "operation" for collective, "kind" for list, "name" for show, "log"
/// for diagnose (the text of the log). compare takes "sides": [request, ...]. Quantities are numbers in base units or
/// text as typed; unknown keys and paths of files are rejected. "style": "text", "markdown" or "html", instead of the
/// default "json", makes the answer {"text": the short answer}. "command", the names of model and hardware, and
/// "inputs" of an answer form a request that reproduces it; inputs that do not list every value in effect count as
/// typed.

#include <string>
#include <string_view>

#include "report/commands/command.hpp"
#include "report/commands/runner.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// The answer as 'llmcalc COMMAND --json' prints it, or the error {"error": {"key", "message", "exit_code": 2}}. "key":
/// the input named at the start of the message. Throws only std::bad_alloc.
json::Value ask(const json::Value& request, Runner& runner);
/// Like ask() above, on one thread.
json::Value ask(const json::Value& request);

/// The answer as text, with the bytes of 'llmcalc COMMAND --json', or the error object. Throws only std::bad_alloc.
std::string ask_text(const json::Value& request, Runner& runner);
/// Like ask_text() above, for a request that is still text.
std::string ask_text(std::string_view request, Runner& runner);
/// Text of the error object with this sentence.
std::string error_text(const std::string& sentence);
/// An answer, and the output settings that its request selects.
struct AnsweredRequest {
  Output output;
  Screen screen;
};
/// Like ask(), but before the answer is rendered. Throws InputError and Overflow.
AnsweredRequest answer_request(const json::Value& request, Runner& runner);

/// The error that ask() returns for a sentence.
json::Value refusal(const std::string& sentence);

}  // namespace llmcalc
