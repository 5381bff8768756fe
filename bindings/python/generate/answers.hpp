#pragma once
/// The types of answers as Python stubs, from the JSON Schema of reports.

#include <string>

namespace llmcalc::python {

/// A class for each object of the schema, and the attributes of Answer.
std::string answer_stubs();

}  // namespace llmcalc::python
