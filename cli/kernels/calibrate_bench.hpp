#pragma once
/// `llmcalc calibrate --bench FILE` and `--server URL`: a hardware file from a benchmark of a served model, or from a
/// running server.

#include <array>
#include <string>

#include "evidence/bench/bench_case.hpp"
#include "report/commands/arguments.hpp"
#include "report/report.hpp"

namespace llmcalc {

/// Options that describe the server and apply only with --bench or --server.
inline constexpr std::array bench_setup_options{
    "--software", "--tp", "--pp", "--dp", "--ep", "--precision", "--weight-precision", "--kv-precision"};

/// A run and its origin.
struct BenchSource {
  BenchRun run{};
  std::string where{};  ///< file or address, for errors
  std::string name{};   ///< origin in the hardware file
  Notes notes{};        ///< about the measurement
};

struct BenchCalibration {
  json::Value file;
  Report report;  ///< omits the file's path
};

/// The run in the file of --bench. Throws InputError.
BenchSource source_of_bench(const Arguments& arguments);

/// Model, device, engine and layout, from the source or --hardware, --model and the options of the server. Reads all
/// members of the run except its tests. Throws InputError.
BenchSetup bench_setup(const Arguments& arguments, const BenchSource& source);

/// Predicts the source's tests. Also reads --name. Throws InputError.
BenchCalibration calibrated_from_bench(const Arguments& arguments, const BenchSource& source, const BenchSetup& setup);

}  // namespace llmcalc
