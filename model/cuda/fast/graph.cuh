#pragma once
/// Gain and measure: see replay.hpp.
///
/// A CUDA graph: launches recorded between begin() and end(), to be repeated as one launch. Memory allocated and
/// released between them belongs to the graph.

#include <cuda_runtime.h>

#include <cstddef>

#include "calc/units.hpp"

namespace llmcalc::model::cuda {

class GpuDevice;

class GpuGraph {
 public:
  /// `room`: bytes of the buffer that is filled before each launch.
  GpuGraph(GpuDevice& device, Count room);
  ~GpuGraph();
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;

  /// Until end(), work on the device's stream is recorded and does not run.
  void begin();
  void end();
  /// A part of the buffer: the address where the host fills it, and the address where kernels read it. Throws
  /// std::runtime_error if the buffer is full.
  struct Room {
    std::byte *host, *device;
  };
  Room room(Count bytes);
  /// Calls f to fill the buffer, after its previous contents have been read.
  template <typename F>
  void fill(const F& f) {
    wait_for_copy();
    f();
  }
  void launch();

 private:
  void give_back();
  void wait_for_copy() const;
  GpuDevice& device_;
  Count size_, used_ = 0;
  Room all_{nullptr, nullptr};
  cudaEvent_t copied_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace llmcalc::model::cuda
