#pragma once
/// A text read whole, and no longer than memory holds.

#include <string>

namespace llmcalc {

/// A file's text, or a pipe's. InputError for a folder, a device, what cannot be read, and a text that is too long.
std::string file_text(const std::string& path);

/// Standard input's. InputError where it cannot be read or is too long.
std::string standard_input();

}  // namespace llmcalc
