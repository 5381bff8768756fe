#pragma once
/// Rows in the table "sweep" of a SQLite file, in order of rowid. Integers of 2^63 and above are stored as text,
/// booleans as 0 and 1.

#include "cli/sweep/table.hpp"

namespace llmcalc {

std::unique_ptr<Table> sqlite_table(const std::string& path, std::vector<std::string> header, Opening opening);

}  // namespace llmcalc
