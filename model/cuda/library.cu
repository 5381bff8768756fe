// The shared library that programs open when a GPU is asked for.

#include <cstdio>
#include <memory>
#include <stdexcept>

#include "model/cuda/backend.hpp"
#include "model/cuda/device.cuh"
#include "model/cuda/open.hpp"

namespace {

using namespace llmcalc::model;

/// A backend with its device, which outlives all that it runs.
template <typename T>
Backend* made(const char* format, bool poison) {
  static cuda::GpuDevice device;
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, 0), "asking for the device's name");
  return new cuda::Cuda<T, cuda::GpuDevice>(device, std::string(properties.name) + ", " + format, poison);
}

}  // namespace

/// Null, and why in `error`, where there is no GPU that works.
extern "C" __attribute__((visibility("default"))) Backend* llmcalc_cuda_backend(bool bf16_numbers, bool poison,
                                                                                char* error, std::size_t room) {
  try {
    int devices = 0;
    cuda::check(cudaGetDeviceCount(&devices), "looking for a device");
    return bf16_numbers ? made<bf16>("bfloat16", poison) : made<float>("float32", poison);
  } catch (const std::exception& e) {
    std::snprintf(error, room, "%s", e.what());
    return nullptr;
  }
}
