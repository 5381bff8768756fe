// Registration and launches of kernels, as nvcc's code calls them. Kernels do not run: only their resources and
// parameters are checked.

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/standin/cubin.hpp"
#include "tests/standin/handles.hpp"
#include "tests/standin/memory.hpp"
#include "tests/standin/stream.hpp"

namespace llmcalc::standin {
namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};

/// Kernels by the address of their host function.
struct Entry {
  std::map<int, Kernel> images;  ///< by architecture
  std::size_t allowed_shared = 48 * 1024;
};

struct Registry {
  std::vector<std::map<int, Kernels>> binaries;
  std::map<const void*, Entry> entries;
  std::vector<Configuration> pushed;
  std::size_t registered = 0;
};
Registry& registry() {
  static Registry& one = *new Registry;  // never destroyed: the program's last calls need it
  return one;
}

Entry& entry_of(const void* function) {
  const auto at = registry().entries.find(function);
  require(at != registry().entries.end(), "a function is launched that is not a kernel");
  return at->second;
}

/// The image for this device: the same major version, or the latest earlier one, compiled from PTX. Null if there is no
/// such image.
const Kernel* image_of(const Entry& e) {
  const auto after = e.images.upper_bound(capability());
  return after == e.images.begin() ? nullptr : &std::prev(after)->second;
}

/// Maximum bytes of shared memory per block.
std::size_t most_shared() {
  switch (capability()) {
    case 75:
      return 64 * 1024;
    case 80:
    case 87:
      return 163 * 1024;
    case 86:
    case 89:
    case 120:
      return 99 * 1024;
    default:
      return 227 * 1024;
  }
}

void check_registers(const Kernel& k, unsigned threads) {
  constexpr unsigned all = 65536, warp = 32, unit = 256;
  const unsigned warps = (threads + warp - 1) / warp, of_warp = (k.registers * warp + unit - 1) / unit * unit;
  require(warps * of_warp <= all, k.name + " is launched with more registers than a multiprocessor has");
}

void check_size(const Kernel& k, const Entry& e, const Configuration& c) {
  constexpr unsigned most_blocks = 0x7fffffff, most_across = 65535;
  const std::uint64_t threads = std::uint64_t{c.block.x} * c.block.y * c.block.z;
  require(c.grid.x > 0 && c.grid.x <= most_blocks,
          k.name + " is launched with " + std::to_string(c.grid.x) + " blocks");
  require(c.grid.y > 0 && c.grid.y <= most_across && c.grid.z > 0 && c.grid.z <= most_across,
          k.name + " is launched with a grid too high or too deep");
  require(threads > 0 && threads <= k.most_threads,
          k.name + " is launched with " + std::to_string(threads) + " threads per block");
  require(c.shared <= e.allowed_shared,
          k.name + " is launched with more shared memory than it has requested: " + std::to_string(c.shared));
  require(c.shared + k.shared <= most_shared(),
          k.name + " is launched with more shared memory than a block may have: " + std::to_string(c.shared));
  check_registers(k, static_cast<unsigned>(threads));
}

/// Whether this word is an address in host memory. Small values are counts, not addresses.
bool is_host(std::uintptr_t word) {
  constexpr std::uintptr_t least = std::uintptr_t{1} << 32, most = std::uintptr_t{1} << 47, page = 4096;
  if (word < least || word >= most) return false;
  return ::msync(reinterpret_cast<void*>(word / page * page), page, MS_ASYNC) == 0;
}

void check_word(const std::string& kernel, std::uintptr_t word, std::size_t offset) {
  const void* const p = reinterpret_cast<const void*>(word);
  const std::string where = kernel + " is given, at byte " + std::to_string(offset) + " of its parameters, ";
  if (memory().is_device(p))
    require(memory().is_live(p), where + "device memory that is not live");
  else
    require(!is_host(word), where + "host memory");
}

/// The 8-byte words of a kernel's parameters.
std::vector<std::uintptr_t> words_of(const Kernel& k, void** arguments) {
  std::vector<std::uintptr_t> words;
  for (std::size_t i = 0; i < k.parameters.size(); ++i) {
    const std::size_t n = k.parameters[i].bytes / sizeof(std::uintptr_t), before = words.size();
    words.resize(before + n);
    std::memcpy(&words[before], arguments[i], n * sizeof(std::uintptr_t));
  }
  return words;
}

cudaError_t launch(const void* function, const Configuration& c, void** arguments) {
  const Entry& e = entry_of(function);
  const Kernel* const k = image_of(e);
  if (k == nullptr) return cudaErrorNoKernelImageForDevice;
  check_size(*k, e, c);
  const auto check = [name = k->name, words = words_of(*k, arguments)] {
    for (std::size_t i = 0; i < words.size(); ++i) check_word(name, words[i], i * sizeof(std::uintptr_t));
  };
  stream_of(c.stream).submit({check, [] {}});
  return cudaSuccess;
}

}  // namespace

std::map<int, Kernels> registered_kernels() {
  std::map<int, Kernels> all;
  for (const auto& binary : registry().binaries)
    for (const auto& [architecture, kernels] : binary) all[architecture].insert(kernels.begin(), kernels.end());
  return all;
}

}  // namespace llmcalc::standin

using namespace llmcalc::standin;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  Registry& r = registry();
  r.binaries.push_back(kernels_of(wrapper));
  ++r.registered;
  return reinterpret_cast<void**>(r.binaries.size());  // handles count from 1
}
void __cudaRegisterFatBinaryEnd(void**) {}
char __cudaInitModule(void**) { return 1; }

/// Called at program exit. After the last call, no memory or handles may remain.
void __cudaUnregisterFatBinary(void**) {
  if (--registry().registered > 0) return;
  log_calls();
  if (failed()) return;  // a failed program may leave some
  require(memory().leak().empty(), memory().leak());
  require_no_handles();
  require_no_product_handles();
}

void __cudaRegisterFunction(void** binary, const char* function, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  Entry& e = registry().entries[function];
  for (const auto& [architecture, kernels] : registry().binaries[reinterpret_cast<std::size_t>(binary) - 1])
    if (const auto at = kernels.find(name); at != kernels.end()) e.images[architecture] = at->second;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
  registry().pushed.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  require(!registry().pushed.empty(), "a launch has no configuration");
  const Configuration c = registry().pushed.back();
  registry().pushed.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  return call("cudaLaunchKernel", [&] { return launch(function, {grid, block, shared, stream}, arguments); });
}
/// Since CUDA 13, a kernel is looked up once and launched by the returned handle.
cudaError_t __cudaGetKernel(void** kernel, const void* function) {
  *kernel = const_cast<void*>(function);
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute what, int value) {
  return call("cudaFuncSetAttribute", [&] {
    require(what == cudaFuncAttributeMaxDynamicSharedMemorySize,
            "the stand-in does not support an attribute that is set");
    Entry& e = entry_of(function);
    const Kernel* const k = image_of(e);
    if (k == nullptr) return cudaErrorNoKernelImageForDevice;
    if (value < 0 || static_cast<std::size_t>(value) + k->shared > most_shared()) return cudaErrorInvalidValue;
    e.allowed_shared = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}
}
