#pragma once
/// An output file named by the user.

#include <functional>
#include <string>
#include <string_view>

namespace llmcalc {

struct OutFile {
  std::string path;
  std::string_view option;                         ///< option that names the file: "--trace"
  std::string kind;                                ///< kind of the file, for messages: "a trace"
  std::function<bool(const std::string&)> is_own;  ///< whether llmcalc wrote the file at a path as this kind; may throw
};

/// Throws InputError if the path is a folder, or in a folder that cannot be written to; without `force`, also if an
/// existing file was not written by llmcalc. Empty files, pipes and devices are always allowed.
void check_out(const OutFile& out, bool force);

}  // namespace llmcalc
