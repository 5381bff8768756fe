#include "presets/estimators/memory_estimate.hpp"

namespace llmcalc {

const std::array<ParameterCard, memory_parameter_count> memory_parameter_cards{
    ParameterCard{"reserved", 0, 0, 0.3, "share of what tensors take that PyTorch's allocator reserves besides",
                  "default: none, blocks are rounded to 512 bytes and segments to 2 MiB "
                  "(c10/cuda/CUDACachingAllocator.cpp); fragments are what the fit finds"},
    ParameterCard{"fragmented", 0, 0, 0.3, "the same, seen from outside: all that a process ever reserved",
                  "default: none, as above"},
    ParameterCard{"process_bytes", 1.3e9, 1e9, 5e9,
                  "bytes that no allocator counts: driver, kernels' code, communicators",
                  "default: Hugging Face Transformers, \"Model training anatomy\": 1343 MB with kernels loaded, one "
                  "device; communicators come on top"}};

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
