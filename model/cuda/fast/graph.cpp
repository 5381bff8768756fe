// Gain and measure: see replay.hpp.
#include "model/cuda/fast/graph.cuh"

#include <stdexcept>

#include "model/cuda/device.cuh"

namespace llmcalc::model::cuda {

GpuGraph::GpuGraph(GpuDevice& device, Count room) : device_(device), size_(room) {
  try {
    void *host = nullptr, *there = nullptr;
    check_host(cudaMallocHost(&host, static_cast<std::size_t>(room)));
    all_.host = static_cast<std::byte*>(host);
    check(cudaMalloc(&there, static_cast<std::size_t>(room)), "allocating graph memory");
    all_.device = static_cast<std::byte*>(there);
    check(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "creating an event");
  } catch (...) {
    give_back();
    throw;
  }
}

/// Also ends a recording that an exception interrupted.
GpuGraph::~GpuGraph() {
  if (device_.recording() == this) {
    cudaGraph_t unfinished = nullptr;
    cudaStreamEndCapture(device_.stream(), &unfinished);
    if (unfinished != nullptr) cudaGraphDestroy(unfinished);
    (void)cudaGetLastError();  // clears the error of the ended capture
    device_.set_recording(nullptr);
  }
  cudaStreamSynchronize(device_.stream());
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  give_back();
}

void GpuGraph::give_back() {
  if (copied_ != nullptr) cudaEventDestroy(copied_);
  cudaFree(all_.device);
  cudaFreeHost(all_.host);
}

void GpuGraph::begin() {
  device_.wait();
  device_.trim();  // a graph's memory is separate from the pool
  // Relaxed: other calls of this thread may allocate and load as needed.
  check(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeRelaxed), "starting graph capture");
  device_.set_recording(this);
}

void GpuGraph::end() {
  cudaGraph_t recorded = nullptr;
  device_.set_recording(nullptr);
  check(cudaStreamEndCapture(device_.stream(), &recorded), "recording");
  const cudaError_t e = cudaGraphInstantiate(&graph_, recorded, 0);
  cudaGraphDestroy(recorded);
  check(e, "instantiating a graph");
}

GpuGraph::Room GpuGraph::room(Count bytes) {
  constexpr Count alignment = 16;
  const Count from = used_, to = from + (bytes + alignment - 1) / alignment * alignment;
  if (to > size_)
    throw std::runtime_error("the parameters that change between runs do not fit in the recording's buffer");
  used_ = to;
  return {all_.host + from, all_.device + from};
}

void GpuGraph::wait_for_copy() const { check(cudaEventSynchronize(copied_), "waiting for a graph's parameters"); }

void GpuGraph::launch() {
  check(cudaMemcpyAsync(all_.device, all_.host, static_cast<std::size_t>(used_), cudaMemcpyHostToDevice,
                        device_.stream()),
        "uploading a graph's parameters");
  check(cudaEventRecord(copied_, device_.stream()), "recording an event");
  cudaError_t e = cudaGraphLaunch(graph_, device_.stream());
  if (e == cudaErrorMemoryAllocation) {  // work outside graphs may have taken the memory in the meantime
    (void)cudaGetLastError();
    device_.wait();
    device_.trim();
    e = cudaGraphLaunch(graph_, device_.stream());
  }
  check(e, "launching a graph");
}

}  // namespace llmcalc::model::cuda
