#pragma once
/// Converts measurements in the old schema to requests.

#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

/// A row that a request cannot express, or expresses only in part. It is stored with the reason, and the accuracy
/// comparison skips the missing part.
struct Unconverted {
  std::string id, reason;
};

struct Converted {
  std::vector<json::Value> rows;  ///< all rows, in the order of the file
  std::vector<Unconverted> unconverted;
  std::vector<std::string> unknown_keys;  ///< such as "measured.new_key", once each; in "stated", but not read
};

/// Converts every row of a file in the old schema. `where` names the file in errors. Throws InputError if the file is
/// not in the old schema.
Converted convert(std::string_view text, const std::string& where);

}  // namespace llmcalc
