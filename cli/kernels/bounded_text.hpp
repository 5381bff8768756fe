#pragma once
/// Reads whole texts, limited by the available memory.

#include <string>

namespace llmcalc {

/// The text of a file or pipe. Throws InputError if it is a folder or a device, unreadable, or too long.
std::string file_text(const std::string& path);

/// The text of standard input. Throws InputError if it is unreadable or too long.
std::string standard_input();

}  // namespace llmcalc
