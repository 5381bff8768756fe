#pragma once
/// Writes standard output (completely, or with an error) and standard error (best effort, because no result depends on
/// it). Reads terminal properties.

#include <stdexcept>
#include <string>
#include <string_view>

namespace llmcalc {

/// Thrown when the reader of a pipe has closed it; needs no message.
struct PipeClosed : std::runtime_error {
  PipeClosed() : std::runtime_error("pipe closed") {}
};

/// Writes the whole text. Throws PipeClosed, or InputError if the disk is full or the output cannot be written.
void write_out(const std::string& text);

/// Writes a line to stderr; drops text that cannot be written.
void say(const std::string& line);

/// Writes unmodified text to stderr; async-signal-safe.
void say_raw(std::string_view text) noexcept;
/// Width of the terminal in columns; without a terminal, $COLUMNS; if that is not set, 80.
std::size_t output_columns();

/// Whether standard output is a terminal with colors and $NO_COLOR (no-color.org) allows them.
bool output_color();

}  // namespace llmcalc
