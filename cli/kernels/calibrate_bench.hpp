#pragma once
/// `llmcalc calibrate --bench FILE`: a hardware file from a benchmark of a served model.

#include <array>
#include <string>

#include "report/commands/arguments.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Options that describe the benchmarked server and apply only with --bench.
inline constexpr std::array bench_setup_options{
    "--software", "--tp", "--pp", "--dp", "--ep", "--precision", "--weight-precision", "--kv-precision"};

struct BenchCalibration {
  json::Value file;
  Report report;  ///< omits the file's path
};

/// Reads --bench, --hardware, --model, --name and the options of the server. Throws InputError.
BenchCalibration calibrated_from_bench(const Arguments& arguments);

}  // namespace llmcalc
