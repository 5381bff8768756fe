#pragma once
/// A GPU: memory, launches, and products of matrices by cuBLASLt. One stream.

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "model/cpu/matmul_shape.hpp"
#include "model/cuda/thread.hpp"

namespace llmcalc::model::cuda {

/// Throws std::runtime_error: what failed and why.
void check(cudaError_t e, const char* what);
void check(cublasStatus_t s, const char* what);

template <typename Kernel>
__global__ void run(const Kernel kernel) {
  kernel(GpuThread());
}
template <FixedSize Kernel>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks_per_multiprocessor) run_fixed(const Kernel kernel) {
  kernel(GpuThread());
}
template <typename Kernel>
constexpr auto entry() {
  if constexpr (FixedSize<Kernel>)
    return &run_fixed<Kernel>;
  else
    return &run<Kernel>;
}

/// One product as cuBLASLt sees it: descriptors that are made once, and the algorithm that was fastest.
struct Product {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};

class GpuDevice {
 public:
  GpuDevice();
  ~GpuDevice();
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  void* allocate(Count bytes);
  void release(void* p, Count bytes);
  void fill(void* p, int byte, Count bytes);
  void upload(void* to, const void* from, Count bytes);
  void download(void* to, const void* from, Count bytes);
  void copy(void* to, const void* from, Count bytes);
  void wait();
  Count capacity() const;

  template <typename Kernel>
  void launch(const Kernel& kernel, Count blocks, int threads, Count room) {
    constexpr Count usual_room = 48 * 1024;
    if (blocks > std::numeric_limits<int>::max()) check(cudaErrorInvalidConfiguration, "a launch of so many blocks");
    if (room > usual_room)
      check(cudaFuncSetAttribute(entry<Kernel>(), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(room)),
            "asking for shared memory");
    entry<Kernel>()<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), static_cast<std::size_t>(room), stream_>>>(
            kernel);
    check(cudaGetLastError(), "launching a kernel");
  }

  /// C = op(A) op(B), added to C if s.add; numbers of A and B are bf16 or float, of C float or as those of A.
  void matmul(const MatmulShape& s, bool from_bf16, bool to_f32, const void* a, const void* b, void* c);

 private:
  /// A shape, its formats, and how well its three pointers are aligned.
  struct Key {
    MatmulShape shape;
    bool from_bf16, to_f32;
    unsigned alignment[3];
    auto operator<=>(const Key&) const = default;
  };
  Product described(const Key& key);
  /// The fastest of cuBLASLt's first suggestions, each timed on the operands with a result of its own.
  cublasLtMatmulAlgo_t fastest(const Product& p, const Key& key, const void* a, const void* b, Count result_bytes);
  float milliseconds(const Product& p, const cublasLtMatmulAlgo_t& algorithm, float beta, const void* a, const void* b,
                     void* c);
  cublasStatus_t multiply(const Product& p, const cublasLtMatmulAlgo_t& algorithm, float beta, const void* a,
                          const void* b, void* c);

  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t blas_ = nullptr;
  void* workspace_ = nullptr;
  std::map<Key, Product> products_;
};

}  // namespace llmcalc::model::cuda
