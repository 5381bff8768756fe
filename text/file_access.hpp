#pragma once
/// Permission to open files by name, which requests from other programs lack.

#include <string>

namespace llmcalc {

/// While an object of this class lives, its thread opens no file that an input names, and does not look for it.
class NoFileAccess {
 public:
  NoFileAccess();
  ~NoFileAccess();
  NoFileAccess(const NoFileAccess&) = delete;
  NoFileAccess& operator=(const NoFileAccess&) = delete;
};

bool has_file_access();
/// Throws an InputError that names the path if this thread may not open files.
void require_file_access(const std::string& path);

}  // namespace llmcalc
