// The shared library that a program opens if a GPU is requested.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "model/cuda/backends.cuh"
#include "model/cuda/instruments.cuh"
#include "model/cuda/open.hpp"

namespace {

using namespace llmcalc::model;

/// Whether LLMCALC_DETERMINISTIC is 1; false if it is 0 or absent.
bool deterministic() {
  const char* const given = std::getenv("LLMCALC_DETERMINISTIC");
  const std::string_view said = given != nullptr ? given : "0";
  if (said != "0" && said != "1")
    throw std::runtime_error("LLMCALC_DETERMINISTIC is " + std::string(said) + "; valid values are 0 and 1");
  return said == "1";
}

/// The properties of device `index`. Throws DeviceError if it does not exist, or is too old for the compiled kernels.
cudaDeviceProp chosen(int index) {
  int devices = 0;
  const cudaError_t e = cudaGetDeviceCount(&devices);
  (void)cudaGetLastError();
  if (e == cudaErrorInsufficientDriver)
    throw DeviceError("no NVIDIA driver was found, or it is older than CUDA " + std::to_string(CUDART_VERSION / 1000) +
                      " requires");
  if (e != cudaSuccess && e != cudaErrorNoDevice)
    throw DeviceError(std::string("driver error: ") + cudaGetErrorString(e));
  if (devices == 0) throw DeviceError("no device was found");
  if (index >= devices)
    throw DeviceError("device " + std::to_string(index) + " does not exist; the last device is " +
                      std::to_string(devices - 1));
  cudaDeviceProp p{};
  cuda::check(cudaGetDeviceProperties(&p, index), "querying the device properties");
  if (p.major < 8)
    throw DeviceError(std::string(p.name) + " has compute capability " + std::to_string(p.major) + "." +
                      std::to_string(p.minor) + ", but at least 8.0 (Ampere) is required");
  return p;
}

/// The board's PCI address, such as "0000:1b:00.0".
std::string pci_address(int index) {
  std::array<char, 32> address{};
  cuda::check(cudaDeviceGetPCIBusId(address.data(), address.size(), index), "querying the PCI address");
  return address.data();
}

/// The only device of this process. The memory in use on its board is read before the device is opened.
struct Opened {
  explicit Opened(int index) : properties(chosen(index)), board(pci_address(index)), device(index) {}
  cudaDeviceProp properties;
  cuda::Nvml board;
  std::optional<llmcalc::Bytes> before = board.used();
  cuda::GpuDevice device;
};
Opened& opened(int index) {
  static Opened one(index);
  return one;
}

/// Creates a backend. The device and its instruments outlive everything that the backend runs. The instruments are
/// never destroyed, because their libraries may be unloaded first when the program ends.
Backend* made(int index, bool bf16_numbers, bool poison) {
  Opened& gpu = opened(index);
  gpu.device.set_deterministic(deterministic());
  static std::array<cuda::GpuInstruments*, 2> instruments{};
  cuda::GpuInstruments*& mine = instruments[bf16_numbers];
  if (mine == nullptr) mine = new cuda::GpuInstruments(gpu.device, gpu.board, gpu.before, bf16_numbers);
  return (bf16_numbers ? cuda::new_bf16 : cuda::new_f32)(gpu.device, gpu.properties.name, poison, mine);
}

}  // namespace

/// Returns null, with the reason in `error`, if device `index` cannot be used.
extern "C" __attribute__((visibility("default"))) Backend* llmcalc_cuda_backend(int index, bool bf16_numbers,
                                                                                bool poison, char* error,
                                                                                std::size_t room) {
  try {
    return made(index, bf16_numbers, poison);
  } catch (const std::exception& e) {
    std::snprintf(error, room, "%s", e.what());
    return nullptr;
  }
}
