#pragma once
/// GPUs, processor and memory of this machine, as the system reports them.

#include <filesystem>
#include <string>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc {

struct FoundGpu {
  std::string name{};  ///< name of the device: "NVIDIA GeForce RTX 4090"
  Bytes memory{};      ///< memory of the device; 0: unknown
};

struct Machine {
  std::vector<FoundGpu> gpus{};
  std::string processor{};  ///< name of the processor: "AMD EPYC 7763 64-Core Processor"; empty: unknown
  Count threads = 0;        ///< threads of the processor; 0: unknown
  Bytes memory{};           ///< memory of the host; 0: unknown
};

/// NVIDIA GPUs through NVML (libnvidia-ml.so.1, opened if present); AMD GPUs, processor and memory from files under
/// `root`: /sys/class/drm, /proc/cpuinfo, /proc/meminfo. Unreadable parts remain unknown.
Machine read_machine(const std::filesystem::path& root = "/");

}  // namespace llmcalc
