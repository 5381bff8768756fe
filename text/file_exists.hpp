#pragma once
/// Checks whether a path exists.

#include <string>

namespace llmcalc {

/// Whether there is a file, folder or device at the path; false for a name longer than the file system allows. Throws
/// an InputError that names the path if the lookup fails, for example because of an unsearchable folder or a cycle of
/// links.
bool file_exists(const std::string& path);

}  // namespace llmcalc
