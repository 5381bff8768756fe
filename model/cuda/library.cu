// The shared library that programs open when a GPU is asked for.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "model/cuda/backend.hpp"
#include "model/cuda/instruments.cuh"
#include "model/cuda/open.hpp"

namespace {

using namespace llmcalc::model;

/// Whether LLMCALC_DETERMINISTIC is 1, not 0 or absent.
bool deterministic() {
  const char* const given = std::getenv("LLMCALC_DETERMINISTIC");
  const std::string_view said = given != nullptr ? given : "0";
  if (said != "0" && said != "1")
    throw std::runtime_error("LLMCALC_DETERMINISTIC is " + std::string(said) + "; 0 and 1 are known");
  return said == "1";
}

/// The board's PCI address, "0000:1b:00.0".
std::string pci_address() {
  std::array<char, 32> address{};
  cuda::check(cudaDeviceGetPCIBusId(address.data(), address.size(), 0), "asking where the device is");
  return address.data();
}

/// The one device; what its board had in use is read before it is opened.
struct Opened {
  cuda::Nvml board{pci_address()};
  std::optional<llmcalc::Bytes> before = board.used();
  cuda::GpuDevice device;
};
Opened& opened() {
  static Opened one;
  return one;
}

/// A backend; the device and its instruments outlive all that it runs. The instruments are never taken down: at the
/// program's end their libraries may be gone before them.
template <typename T>
Backend* made(bool poison) {
  Opened& gpu = opened();
  gpu.device.set_deterministic(deterministic());
  static auto* const instruments =
      new cuda::GpuInstruments(gpu.device, gpu.board, gpu.before, sizeof(T) == sizeof(bf16));
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, 0), "asking for the device's name");
  return new cuda::Cuda<T, cuda::GpuDevice>(gpu.device, properties.name, poison, instruments);
}

}  // namespace

/// Null, and why in `error`, where there is no GPU that works.
extern "C" __attribute__((visibility("default"))) Backend* llmcalc_cuda_backend(bool bf16_numbers, bool poison,
                                                                                char* error, std::size_t room) {
  try {
    int devices = 0;
    cuda::check(cudaGetDeviceCount(&devices), "looking for a device");
    return bf16_numbers ? made<bf16>(poison) : made<float>(poison);
  } catch (const std::exception& e) {
    std::snprintf(error, room, "%s", e.what());
    return nullptr;
  }
}
