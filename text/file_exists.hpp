#pragma once
/// Whether a path leads to something.

#include <string>

namespace llmcalc {

/// Whether there is a file, a folder or a device at the path. Throws InputError, naming the path, where the system
/// refuses to look: a folder that may not be searched, links in a circle. No file has a name longer than it takes.
bool file_exists(const std::string& path);

}  // namespace llmcalc
