#include "model/cuda/instruments.cuh"

namespace llmcalc::model::cuda {
namespace {

std::string dotted(std::size_t major, std::size_t minor) { return std::to_string(major) + "." + std::to_string(minor); }
/// Formats a driver or runtime version, such as 13000.
std::string cuda_version(int v) {
  return dotted(static_cast<std::size_t>(v) / 1000, static_cast<std::size_t>(v) % 1000 / 10);
}
/// Formats a library version, such as 130100.
std::string library_version(std::size_t v) {
  return dotted(v / 10000, v % 10000 / 100) + "." + std::to_string(v % 100);
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
  check(cudaDriverGetVersion(&driver), "querying the driver version");
  check(cudaRuntimeGetVersion(&runtime), "querying the runtime version");
  std::vector<Version> all{{"cuda_driver", cuda_version(driver)},
                           {"cuda_runtime", cuda_version(runtime)},
                           {"cublaslt", library_version(cublasLtGetVersion())}};
  if (const std::string cupti = cupti_version(); !cupti.empty()) all.push_back({"cupti", cupti});
  return all;
}

}  // namespace llmcalc::model::cuda
