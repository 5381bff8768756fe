#pragma once
/// The functions of the Python package, one per command, from the tables of commands and options.

#include <string>

namespace llmcalc::python {

/// The module _commands.py: the functions with signatures and docstrings.
std::string functions_module();

/// The same functions as stubs, with the types of their inputs.
std::string function_stubs();

}  // namespace llmcalc::python
