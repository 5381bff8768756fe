#pragma once
/// Measurements in the old schema, rewritten as requests.

#include <string>
#include <string_view>
#include <vector>

#include "text/json.hpp"

namespace llmcalc {

/// A row that no request expresses, wholly or in part: kept with the reason, and skipped by the accuracy of that part.
struct Unconverted {
  std::string id, reason;
};

struct Converted {
  std::vector<json::Value> rows;  ///< in the order of the file, none left out
  std::vector<Unconverted> unconverted;
  std::vector<std::string> unknown_keys;  ///< "measured.new_key": once each; kept under "stated", and not read
};

/// Every row of a file in the old schema. `where` names it in errors. Throws InputError where the file is not in the
/// old schema.
Converted convert(std::string_view text, const std::string& where);

}  // namespace llmcalc
