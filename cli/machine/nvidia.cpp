#include "cli/machine/nvidia.hpp"

#include <dlfcn.h>

#include <array>

namespace llmcalc {
namespace {

// Copied from nvml.h (NVML API reference, "Device Queries"), because few machines have this header.
constexpr int nvml_success = 0;
constexpr unsigned name_length = 96;
struct NvmlMemory {
  unsigned long long total, free, used;
};
using NvmlDevice = void*;

template <typename F>
F* find(void* library, const char* name) {
  return reinterpret_cast<F*>(::dlsym(library, name));
}

FoundGpu gpu_at(void* library, NvmlDevice device) {
  FoundGpu gpu;
  std::array<char, name_length> name{};
  auto* const name_of = find<int(NvmlDevice, char*, unsigned)>(library, "nvmlDeviceGetName");
  if (name_of != nullptr && name_of(device, name.data(), name_length) == nvml_success) gpu.name = name.data();
  NvmlMemory memory{};
  auto* const memory_of = find<int(NvmlDevice, NvmlMemory*)>(library, "nvmlDeviceGetMemoryInfo");
  if (memory_of != nullptr && memory_of(device, &memory) == nvml_success)
    gpu.memory = Bytes(static_cast<Count>(memory.total));
  return gpu;
}

}  // namespace

std::vector<FoundGpu> nvidia_gpus() {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  auto* const init = find<int()>(library, "nvmlInit_v2");
  auto* const count_of = find<int(unsigned*)>(library, "nvmlDeviceGetCount_v2");
  auto* const device_at = find<int(unsigned, NvmlDevice*)>(library, "nvmlDeviceGetHandleByIndex_v2");
  if (init == nullptr || count_of == nullptr || device_at == nullptr || init() != nvml_success) return {};
  unsigned count = 0;
  if (count_of(&count) != nvml_success) return {};
  std::vector<FoundGpu> gpus;
  for (unsigned i = 0; i < count; ++i)
    if (NvmlDevice device = nullptr; device_at(i, &device) == nvml_success) gpus.push_back(gpu_at(library, device));
  return gpus;
}

}  // namespace llmcalc
