#pragma once
/// Writing to standard output, completely or with an error.

#include <stdexcept>
#include <string>

namespace llmcalc {

/// Thrown when the reader of a pipe has closed it; no message is needed.
struct PipeClosed : std::runtime_error {
  PipeClosed() : std::runtime_error("pipe closed") {}
};

/// Writes all of it, or throws: PipeClosed, or InputError when the disk is full or the output cannot be written.
void write_out(const std::string& text);

}  // namespace llmcalc
