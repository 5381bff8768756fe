#pragma once
/// Questions that readers ask JSON objects. A schema is derived from them (text/json_schema.hpp).

#include <string>
#include <string_view>

#include "text/json.hpp"

namespace llmcalc::json {

/// Answers the questions of one thread's Objects in place of a document. `where` names an object.
class Questions {
 public:
  virtual ~Questions() = default;

  virtual void expects(const std::string& where, std::string_view key, const Expected& value) = 0;
  /// The key must be present.
  virtual void needs(const std::string& where, std::string_view key) = 0;
  /// The value to read; null if the key is to be absent.
  virtual const Value* find(const std::string& where, std::string_view key) = 0;
  /// All keys have been asked for; others are rejected.
  virtual void closes(const std::string& where) = 0;
};

/// What answers this thread's Objects; null: their documents.
Questions*& current_questions();

}  // namespace llmcalc::json
