#pragma once
/// Kernels that the tests of the rules launch.

#include <cuda_runtime_api.h>

#include <cstddef>

namespace llmcalc::standin {

/// A kernel's launch, of one block unless `blocks` says otherwise.
struct Launch {
  cudaStream_t stream = nullptr;
  const void* pointer = nullptr;  ///< the kernel's parameter, behind a number
  unsigned threads = 32, blocks = 1;
  std::size_t shared = 0, asked_shared = 0;  ///< asked_shared: by cudaFuncSetAttribute before; 0: it is not
};
cudaError_t launch_small(const Launch& l);
/// A kernel of more than 64 registers per thread.
cudaError_t launch_large(const Launch& l);

}  // namespace llmcalc::standin
