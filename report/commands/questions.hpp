#pragma once
/// Commands for the questions about a model under a plan: params, memory, flops, train, infer, report.

#include "report/commands/arguments.hpp"
#include "report/question.hpp"

namespace llmcalc {

std::vector<Command> question_commands();

/// Reads and checks the request of a question. Throws InputError.
Request request(const Question& question, const Arguments& arguments);

/// The request of 'llmcalc serve', with all defaults filled in, and checked.
Request serving_request(const Arguments& arguments);

/// Whether every memory section of a report fits.
bool fits(const Report& report);
/// Whether the report's memory verdict meets --require-fit.
bool fits_as_required(const Report& report, RequiredFit required);

/// Splits the value of an option that itself contains options.
std::vector<std::string> words_of(const std::string& text);

}  // namespace llmcalc
