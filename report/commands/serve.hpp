#pragma once
/// The answer of 'serve' for a request that has been read and checked.

#include "report/commands/command.hpp"
#include "report/question.hpp"

namespace llmcalc {

/// Name and parts of the answer. It lists no sections.
extern const Question serve_question;

/// Simulates the server until the runner is stopped. `traced`: whether to include the content of --trace.
Output serve_answer(Request r, bool traced, Runner& runner);

}  // namespace llmcalc
