#pragma once
/// Prediction beside measurement in a report: bytes, FLOPs and operators, and what they come to.

#include <string>
#include <vector>

#include "report/report.hpp"
#include "validate/compare.hpp"

namespace llmcalc {

/// One model: every quantity of a part ("training", "inference"), per operator.
void add_table(Report& report, const validate::Verdict& v, const std::string& part);

/// What counting numbers did beside products.
void add_beside(Report& report, const validate::Verdict& v);

/// A suite: a line per case, and every row that differs.
void add_suite(Report& report, const std::vector<validate::Verdict>& all);

/// A case's name, as long as a table has room for.
std::string short_name(const std::string& name);

/// Whether all is as predicted; else how much is not, and what is furthest off.
std::string conclusion(const std::vector<validate::Verdict>& all);

}  // namespace llmcalc
