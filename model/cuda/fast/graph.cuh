#pragma once
/// Gain and measure: as replay.hpp.
///
/// A CUDA graph: what was launched between begin() and end(), to be launched again as one. Memory that was taken and
/// given back between them is the graph's own.

#include <cuda_runtime.h>

#include <cstddef>

#include "calc/units.hpp"

namespace llmcalc::model::cuda {

class GpuDevice;

class GpuGraph {
 public:
  /// `room`: bytes for what is filled before each launch.
  GpuGraph(GpuDevice& device, Count room);
  ~GpuGraph();
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;

  /// Until end() nothing that is asked of the device's stream is done.
  void begin();
  void end();
  /// A part of the room: where the host fills it, and where kernels find it. Throws std::runtime_error: none is left.
  struct Room {
    std::byte *host, *device;
  };
  Room room(Count bytes);
  /// f fills the room; what was in it has been read.
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
