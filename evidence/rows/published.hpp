#pragma once
/// The published measurements: files in the folder "measurements" next to the program or of its installation.

#include <string>
#include <string_view>
#include <vector>

namespace llmcalc {

/// Whether the folder is there.
bool has_published();

/// The text of a file: training.jsonl, inference.jsonl or serving.jsonl. Throws InputError if the folder is
/// missing or the file unreadable.
std::string published_text(std::string_view file);

}  // namespace llmcalc
