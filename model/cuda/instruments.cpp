#include "model/cuda/instruments.cuh"

namespace llmcalc::model::cuda {
namespace {

std::string dotted(std::size_t major, std::size_t minor) { return std::to_string(major) + "." + std::to_string(minor); }
/// 13000 of the driver and the runtime.
std::string cuda_version(int v) {
  return dotted(static_cast<std::size_t>(v) / 1000, static_cast<std::size_t>(v) % 1000 / 10);
}
/// 130100 of the libraries.
std::string library_version(std::size_t v) {
  return dotted(v / 10000, v % 10000 / 100) + "." + std::to_string(v % 100);
}

/// The version of the cuDNN that this program has opened; empty: none.
std::string cudnn_version() {
  void* const library = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return "";
  auto* const version = reinterpret_cast<std::size_t (*)()>(::dlsym(library, "cudnnGetVersion"));
  return version != nullptr ? library_version(version()) : "";
}

}  // namespace

DeviceMemory GpuInstruments::memory(Bytes arena) {
  device_.wait();
  MemoryPoints points = device_.memory();
  points.before = before_;
  return explained(points, arena);
}

std::vector<Version> GpuInstruments::versions() {
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
  std::vector<Version> all{{"cuda_driver", cuda_version(driver)},
                           {"cuda_runtime", cuda_version(runtime)},
                           {"cublaslt", library_version(cublasLtGetVersion())}};
  for (const Version& v : {Version{"cudnn", cudnn_version()}, Version{"cupti", cupti_version()}})
    if (!v.version.empty()) all.push_back(v);
  return all;
}

}  // namespace llmcalc::model::cuda
