// The shared library that programs open when a GPU is asked for.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "model/cuda/backend.hpp"
#include "model/cuda/device.cuh"
#include "model/cuda/open.hpp"

namespace {

using namespace llmcalc::model;

/// What LLMCALC_DETERMINISTIC says: 1, or 0 or nothing.
bool deterministic() {
  const char* const given = std::getenv("LLMCALC_DETERMINISTIC");
  const std::string_view said = given != nullptr ? given : "0";
  if (said != "0" && said != "1")
    throw std::runtime_error("LLMCALC_DETERMINISTIC is " + std::string(said) + "; 0 and 1 are known");
  return said == "1";
}

/// A backend with its device, which outlives all that it runs.
template <typename T>
Backend* made(const char* format, bool poison) {
  static cuda::GpuDevice device;
  device.set_deterministic(deterministic());
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
