#pragma once
/// Converts a request to the command or file that launches its plan (--emit).

#include <string>

#include "ask/request/options/options.hpp"
#include "ask/request/request.hpp"

namespace llmcalc {

/// The launch text. `model`: the model's name in the stack, or as typed. Throws InputError if the table lacks an option
/// that the user set. Precondition: the stack has a table.
std::string launch_text(const Request& r, const SoftwareCard& stack, const std::string& model);

/// The hub name of a preset's checkpoint; empty if unknown.
std::string hub_name(const ModelCard& model);

/// Whether a table has a row for an input or for a size that covers the input, or leaves the input to the user's
/// script.
bool expresses(const Launch& t, const std::string& key);

/// Whether an option describes assumptions of an estimate or its output, not the launch.
bool is_outside_launch(const Request& r, const Option& o);

}  // namespace llmcalc
