#pragma once
/// Prediction of a benchmark's figures, and the ratio of measured to estimated times.

#include <optional>
#include <string>
#include <vector>

#include "evidence/bench/bench_run.hpp"
#include "evidence/names/engine_name.hpp"
#include "presets/hardware_file.hpp"
#include "presets/model_card.hpp"
#include "text/json.hpp"

namespace llmcalc {

/// Benchmarked model, device and engine, from the benchmark's output or the user's options.
struct BenchSetup {
  ModelCard model;
  HardwareCard hardware;
  EngineName engine;
  json::Value inputs = json::Value::object();  ///< layout and formats, as options of infer by their JSON keys
};

/// A figure in the unit of its key.
struct BenchFigure {
  std::string test;  ///< "64 clients, 1024 + 128 tokens"
  std::string key;   ///< "tpot_ms"
  double predicted = 0, measured = 0;
  double ratio = 1;  ///< measured over predicted time
};

/// Predicts every figure. Clients of a server start together, each with one request at a time; without a limit on
/// their number, all requests are sent at once. Throws InputError if the device cannot reach a measured value.
std::vector<BenchFigure> bench_figures(const BenchRun& run, const BenchSetup& setup, const std::string& where);

/// Geometric means over tests of the ratios of mean times per token, or of output rates if there is no time per token,
/// and of prompt times.
struct BenchRatios {
  std::optional<double> decode{}, prompt{};
};
BenchRatios bench_ratios(const std::vector<BenchFigure>& figures);

}  // namespace llmcalc
