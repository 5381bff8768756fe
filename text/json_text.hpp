#pragma once
/// Text of JSON values, raw or printable. json::Object::text() returns the printable form.

#include <string>
#include <string_view>

#include "text/json.hpp"

namespace llmcalc::json {

/// The string at a key, byte for byte, for comparisons. Throws InputError if the value is not a string.
std::string raw_text(const Object& o, std::string_view key);

/// A string in the form that printable() returns, or the JSON text of any other value.
std::string shown(const Value& value);

}  // namespace llmcalc::json
