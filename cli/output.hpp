#pragma once
/// Standard output: whole, or an error.

#include <stdexcept>
#include <string>

namespace llmcalc {

/// The reader of a pipe has gone: nothing more to say.
struct PipeClosed : std::runtime_error {
  PipeClosed() : std::runtime_error("pipe closed") {}
};

/// Writes all of it, or throws: PipeClosed, or InputError when the disk is full or the output cannot be written.
void write_out(const std::string& text);

}  // namespace llmcalc
