#pragma once
/// Energy that a board takes: by its own counter, or else its power, sampled.

#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>

#include "model/cuda/nvml.hpp"

namespace llmcalc::model::cuda {

struct PowerSample {
  double seconds = 0, watts = 0;
};

/// Joules by the trapezoid rule: power between two samples is their mean.
double trapezoid(const std::vector<PowerSample>& samples);

class EnergyMeter {
 public:
  explicit EnergyMeter(const Nvml& board) : board_(board) {}
  void start();
  /// Since start; absent: the board tells neither energy nor power.
  std::optional<Energy> stop();

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  void sample();

  const Nvml& board_;
  Clock::time_point begin_;
  std::optional<double> joules_;
  std::vector<PowerSample> samples_;
  std::jthread sampler_;
};

}  // namespace llmcalc::model::cuda
