#pragma once
/// Python source text: names, literals, docstrings.

#include <string>
#include <string_view>

namespace llmcalc::python {

/// A command or key as a Python name: "plan_train", "import_".
std::string python_name(std::string_view key);

/// A string literal.
std::string literal(std::string_view text);

/// A docstring with lines of at most 100 columns at this indentation; options in the text become names of inputs.
std::string docstring(const std::string& text, std::size_t indent);

/// Text in which options are names of inputs: "micro_batch" for "--micro-batch".
std::string with_input_names(std::string_view text);

}  // namespace llmcalc::python
