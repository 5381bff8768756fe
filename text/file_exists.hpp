#pragma once
/// Whether a path exists.

#include <string>

namespace llmcalc {

/// Whether there is a file, folder or device at the path; false for a name longer than the file system allows. Throws
/// InputError, naming the path, if the lookup fails, for example in an unsearchable folder or a cycle of links.
bool file_exists(const std::string& path);

}  // namespace llmcalc
