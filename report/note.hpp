#pragma once
/// Caveats and assumptions behind an answer's numbers.

#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

struct Note {
  std::string_view key;  ///< identifies the kind of note in all versions: "latency_unknown"; a string literal
  std::string text;
};
using Notes = std::vector<Note>;

/// Adds a note, unless its text is empty.
void add_note(Notes& notes, Note note);
/// Adds notes of one kind.
void add_notes(Notes& notes, std::string_view key, const std::vector<std::string>& texts);

/// Adds `notes`, a list of strings, and `notes_keyed`, the same strings with their keys; a report without notes remains
/// unchanged.
void put_notes(json::Value& report, const Notes& notes);

}  // namespace llmcalc
