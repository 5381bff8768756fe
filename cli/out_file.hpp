#pragma once
/// An output file named by the user.

#include <functional>
#include <string>
#include <string_view>

namespace llmcalc {

struct OutFile {
  std::string path;
  std::string_view option;                         ///< "--trace"
  std::string kind;                                ///< "a trace": its name in messages
  std::function<bool(const std::string&)> is_own;  ///< whether llmcalc wrote a file as this kind; may throw InputError
};

/// Throws InputError if the path is a folder, or in a folder that cannot be written to; without `force`, also if it is
/// a file that llmcalc did not write. Empty files, pipes and devices are always allowed.
void check_out(const OutFile& out, bool force);

}  // namespace llmcalc
