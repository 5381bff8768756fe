#include "report/note.hpp"

namespace llmcalc {

void add_note(Notes& notes, Note note) {
  if (!note.text.empty()) notes.push_back(std::move(note));
}

void add_notes(Notes& notes, std::string_view key, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) notes.push_back({key, text});
}

void put_notes(json::Value& report, const Notes& notes) {
  for (const Note& n : notes) {
    report["notes"].push_back(n.text);
    report["notes_keyed"].push_back({{"key", n.key}, {"text", n.text}});
  }
}

}  // namespace llmcalc
