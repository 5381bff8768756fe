#pragma once
/// The file of --trace.

#include <string>

namespace llmcalc {

/// Throws InputError where the path leads to a file that is no trace, or into a folder that cannot be written to.
void check_trace_out(const std::string& path);

/// Writes a trace as a whole or not at all.
void write_trace(const std::string& path, const std::string& trace);

}  // namespace llmcalc
