#pragma once
/// `llmcalc calibrate --from DIR`: a hardware file from operator tables.

#include <string>

#include "report/commands/arguments.hpp"
#include "report/report.hpp"

namespace llmcalc {

struct TableCalibration {
  json::Value file;
  Report report;  ///< omits the file's path
};

/// Reads --from, --hardware and --model. Throws InputError.
TableCalibration calibrated_from_tables(const Arguments& arguments, const std::string& name);

}  // namespace llmcalc
