#pragma once
/// Standard output: whole, or an error; and what kind of terminal it is. Standard error: what can be written of it, for
/// nothing that was computed depends on it.

#include <stdexcept>
#include <string>
#include <string_view>

namespace llmcalc {

/// Thrown when the reader of a pipe has closed it; no message is needed.
struct PipeClosed : std::runtime_error {
  PipeClosed() : std::runtime_error("pipe closed") {}
};

/// Writes all of it, or throws: PipeClosed, or InputError when the disk is full or the output cannot be written.
void write_out(const std::string& text);

/// A line on stderr; what cannot be written there is dropped.
void say(const std::string& line);

/// Writes text as it is to stderr; signal handlers may call it.
void say_raw(std::string_view text) noexcept;
/// Columns of the terminal that it is; else $COLUMNS, else 80.
std::size_t output_columns();

/// Whether it is a terminal that shows colours and $NO_COLOR (no-color.org) allows them.
bool output_colour();

}  // namespace llmcalc
