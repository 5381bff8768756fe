#pragma once
/// The schema of measurement files, which is written by hand.

#include <string_view>

namespace llmcalc {

/// The text of docs/measurement.schema.json.
std::string_view measurement_schema_text();

}  // namespace llmcalc
