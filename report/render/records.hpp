#pragma once
/// Renders the list of a report as records: CSV (RFC 4180) or one JSON object per line.

#include <string>

#include "report/report.hpp"

namespace llmcalc {

/// The rows of the first table that text shows, with their JSON values. Columns of CSV: the paths of all values in the
/// rows, in the order in which they first occur. Empty without such a table.
std::string csv_text(const Report& report);
std::string jsonl_text(const Report& report);

/// A cell of CSV, between quotes if it has a comma, a quote or a line end.
std::string csv_cell(std::string_view text);

}  // namespace llmcalc
