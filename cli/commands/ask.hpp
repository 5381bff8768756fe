#pragma once
/// The commands that ask a question about a model under a plan.

#include "ask/request/request.hpp"
#include "cli/arguments.hpp"
#include "report/question.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Reads and checks what a question is about.
Request request(const Question& question, const Arguments& arguments);

/// Reads, checks, computes, prints; the exit code.
int ask(const Question& question, const Arguments& arguments);

/// Prints the answer to a request; the exit code: 1 where it does not fit and must.
int print_answer(const Question& question, const Request& r, const Screen& screen);

/// Prints it; the exit code.
int print(const Report& report, const Screen& screen);

/// The words of an option that holds options of its own.
std::vector<std::string> words_of(const std::string& text);

}  // namespace llmcalc
