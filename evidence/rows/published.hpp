#pragma once
/// Published measurements: files in the folder "measurements" next to the program or in its installation.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// Whether the measurements folder exists.
bool has_published();

/// Text of a file: training.jsonl, inference.jsonl or serving.jsonl. Throws InputError if the folder is missing or the
/// file unreadable.
std::string published_text(std::string_view file);

}  // namespace llmcalc
