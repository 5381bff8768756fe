#pragma once
/// Texts of JSON values: as they are, and as they are shown. json::Object::text() shows them.

#include <string>
#include <string_view>

#include "text/json.hpp"

namespace llmcalc::json {

/// The string at a key, byte for byte, for what is compared and not shown. Throws InputError where it is none.
std::string raw_text(const Object& o, std::string_view key);

/// The text of a string, printable(); of any other value, its JSON.
std::string shown(const Value& value);

}  // namespace llmcalc::json
