#pragma once
/// --emit: the command or file that launches a plan, in place of its report.

#include "report/commands/arguments.hpp"

namespace llmcalc {

/// The launch text for the request, for the stack named by --emit.
Output emitted(const Arguments& arguments, const Request& r);

/// The launch text for the best plan of a search, whose report contains the command of that plan. Throws InputError if
/// no plan was found.
Output emitted_best(const Arguments& arguments, const Output& searched);

}  // namespace llmcalc
