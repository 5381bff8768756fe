#pragma once
/// The file of --trace.

#include <string>

namespace llmcalc {

/// Throws InputError if the path is an existing file other than the program's traces (unless `force`), or is in a
/// folder that cannot be written to.
void check_trace_out(const std::string& path, bool force);

/// Writes a trace completely or not at all.
void write_trace(const std::string& path, const std::string& trace);

}  // namespace llmcalc
