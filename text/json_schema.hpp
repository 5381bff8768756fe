#pragma once
/// JSON Schema of an object, derived from its reader.

#include <functional>
#include <string>

#include "text/json.hpp"

namespace llmcalc::json {

/// Reads an object; `where` names it.
using Reader = std::function<void(const Value& value, const std::string& where)>;

/// In a schema given to Object::expects(): the schema of the object with this name.
Value schema_at(const std::string& where);

/// A list of such objects, and as its sample a list of one.
Expected objects_at(const std::string& where);

/// A list of some of these words.
Expected words_among(const std::vector<std::string>& words);

/// The schema of the objects that a reader accepts. Runs the reader many times; its Objects answer every question with
/// a key absent, and present with each sample in turn, and so reveal all keys, types and choices. Rules about several
/// values are not part of the schema.
Value schema_of(const Reader& read);

}  // namespace llmcalc::json
