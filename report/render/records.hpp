#pragma once
/// Renders the list of a report as records: CSV (RFC 4180) or one JSON object per line.

#include <string>

#include "report/report.hpp"

namespace llmcalc {

/// The rows of the first table in text output, with their JSON values. The columns of CSV are the paths of all values
/// in the rows, in order of first occurrence. Empty without such a table.
std::string csv_text(const Report& report);
std::string jsonl_text(const Report& report);

/// A cell of CSV, between quotes if it has a comma, a quote or a line end.
std::string csv_cell(std::string_view text);

}  // namespace llmcalc
