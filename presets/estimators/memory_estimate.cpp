#include "presets/estimators/memory_estimate.hpp"

namespace llmcalc {

const std::array<ParameterCard, memory_parameter_count> memory_parameter_cards{
    ParameterCard{"reserved", 0, 0, 0.3,
                  "memory that PyTorch's allocator reserves in addition to tensors, as a "
                  "fraction of tensor memory",
                  "default: none; blocks are rounded to 512 bytes and segments to 2 MiB "
                  "(c10/cuda/CUDACachingAllocator.cpp); the fit determines fragmentation"},
    ParameterCard{"fragmented", 0, 0, 0.3, "the same, measured outside the process: peak reserved memory",
                  "default: none, as above"},
    ParameterCard{"process_bytes", 1.3e9, 1e9, 5e9, "bytes outside any allocator: driver, kernel code, communicators",
                  "default: Hugging Face Transformers, \"Model training anatomy\": 1343 MB with kernels loaded, one "
                  "device; communicators are additional"}};

MemoryEstimate read_memory_estimate(const json::Value& value, const std::string& where) {
  MemoryEstimate e;
  std::array<double, memory_parameter_count> values{};
  std::vector<std::string> devices;
  const auto names = class_names<MemoryClass>();
  read_estimate(value, where, {memory_parameter_cards, values, names, e.intervals, e.fitted, devices});
  e.parameters = {.reserved = values[0], .fragmented = values[1], .process = values[2]};
  return e;
}

const MemoryEstimate& memory_estimate() {
  static const MemoryEstimate fitted = [] {
    const EstimateFile file = builtin_estimate("memory");
    return read_memory_estimate(file.value, file.where);
  }();
  return fitted;
}

}  // namespace llmcalc
