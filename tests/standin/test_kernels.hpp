#pragma once
/// Kernels launched by the tests of the rules.

#include <cuda_runtime_api.h>

#include <cstddef>

namespace llmcalc::standin {

/// A kernel launch, of one block by default.
struct Launch {
  cudaStream_t stream = nullptr;
  const void* pointer = nullptr;  ///< passed to the kernel after a number
  unsigned threads = 32, blocks = 1;
  std::size_t shared = 0, asked_shared = 0;  ///< asked_shared: set by an earlier cudaFuncSetAttribute; 0: not set
};
cudaError_t launch_small(const Launch& l);
/// A kernel with more than 64 registers per thread.
cudaError_t launch_large(const Launch& l);

}  // namespace llmcalc::standin
