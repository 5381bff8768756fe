#pragma once
/// `llmcalc calibrate --server URL`: a hardware file from two readings of a running server's metrics; and
/// `--bench FILE`, which may be given twice for two readings in files.

#include "cli/kernels/calibrate_bench.hpp"

namespace llmcalc {

/// Reads --server, --seconds, --allow-remote, --prompt and the options of calibrated_from_bench(); waits between the
/// readings. Throws InputError.
BenchCalibration calibrated_from_server(const Arguments& arguments);

/// Reads one or two --bench, --seconds, --prompt and the options of calibrated_from_bench(). Throws InputError.
BenchCalibration calibrated_from_files(const Arguments& arguments);

}  // namespace llmcalc
