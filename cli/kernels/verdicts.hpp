#pragma once
/// Report sections that compare measured bytes, FLOPs and operators with predictions, and their conclusion.

#include <string>
#include <vector>

#include "report/report.hpp"
#include "validate/compare.hpp"

namespace llmcalc {

/// Adds the table of one model: every quantity of a part ("training", "inference"), per operator.
void add_table(Report& report, const validate::CaseVerdict& v, const std::string& part);

/// Adds the operations outside matmuls, as counted by the run with an operation-counting number type.
void add_beside(Report& report, const validate::CaseVerdict& v);

/// Adds a suite: a line per case, and every row that differs.
void add_suite(Report& report, const std::vector<validate::CaseVerdict>& all);

/// A case's name, shortened to fit a table.
std::string short_name(const std::string& name);

/// A sentence with the outcome: a full match, or the number of differences and the largest error.
std::string conclusion(const std::vector<validate::CaseVerdict>& all);

}  // namespace llmcalc
