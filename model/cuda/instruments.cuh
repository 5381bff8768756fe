#pragma once
/// A GPU's instruments: counters from CUPTI, energy and clocks from NVML, memory from the runtime.

#include <optional>

#include "model/cuda/device.cuh"
#include "model/cuda/instruments/counters.hpp"
#include "model/cuda/instruments/nvml.hpp"
#include "model/cuda/instruments/tensor_work.hpp"

namespace llmcalc::model::cuda {

class GpuInstruments final : public Instruments {
 public:
  /// `before`: bytes in use before the device was opened, if known.
  GpuInstruments(GpuDevice& device, const Nvml& board, std::optional<Bytes> before, bool bf16_numbers)
      : device_(device), board_(board), meter_(board), before_(before), bf16_(bf16_numbers) {}

  std::string counters_missing() override { return counters().missing(); }
  void start_counting() override { counters().start(); }
  void begin(const std::string& range) override { device_.wait(), counters().begin(range); }
  void end() override { device_.wait(), counters().end(); }
  std::vector<RangeCount> stop_counting() override { return counters().stop(); }

  std::optional<TensorWork> tensor_work(const TensorOp& op) const override { return cuda::tensor_work(op); }

  void start_energy() override { device_.wait(), meter_.start(); }
  std::optional<Energy> stop_energy() override { return device_.wait(), meter_.stop(); }

  void reset_memory() override { device_.reset_memory(); }
  void kernels_loaded() override { device_.wait(), device_.kernels_loaded(); }
  DeviceMemory memory(Bytes arena) override;

  Board board() override { return board_.board(); }
  std::vector<Version> versions() override;

 private:
  /// The counters, opened on first use because they hook into the driver.
  Counters& counters() { return counters_ ? *counters_ : counters_.emplace(bf16_); }

  GpuDevice& device_;
  const Nvml& board_;
  EnergyMeter meter_;
  std::optional<Bytes> before_;
  bool bf16_;
  std::optional<Counters> counters_;
};

}  // namespace llmcalc::model::cuda
