#pragma once
/// A GPU: memory, launches, and matmuls by cuBLASLt, all on one stream.

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "model/cpu/products/matmul_shape.hpp"
#include "model/cuda/fast/graph.cuh"
#include "model/cuda/instruments/memory_terms.hpp"
#include "model/cuda/thread.hpp"
#include "model/device_error.hpp"

namespace llmcalc::model::cuda {

/// Throws DeviceError, or DeviceMemoryError if device memory is full. `what`: the action that failed, such as
/// "allocating memory".
void check(cudaError_t e, const char* what);
void check(cublasStatus_t s, const char* what);
/// Checks an allocation of host memory.
void check_host(cudaError_t e);

/// One matmul in cuBLASLt: descriptors, created once, and the chosen algorithm.
struct Product {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  bool adds_bias = false;  ///< whether the epilogue adds a bias, whose pointer is set before every run
  bool timed = false;      ///< whether the algorithm was the fastest of those timed; false: cuBLASLt's first suggestion
};

class GpuDevice {
 public:
  explicit GpuDevice(int index);
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
  /// Bytes of device memory that neither this program nor any other uses.
  Count available() const;

  /// Memory use, when the device was opened and now.
  MemoryPoints memory() const;
  /// See Instruments.
  void reset_memory();
  void kernels_loaded();
  using Graph = GpuGraph;
  /// The recording that captures calls instead of running them; null: calls run.
  GpuGraph* recording() const { return recording_; }
  void set_recording(GpuGraph* graph) { recording_ = graph; }
  cudaStream_t stream() const { return stream_; }
  /// Releases unused memory of the pool, and memory of graphs that are not running.
  void trim();
  void trim_graphs();

  /// Runs a kernel with `room` bytes of shared memory. Defined where device code is compiled.
  template <typename Kernel>
  void launch(const Kernel& kernel, Count blocks, int threads, Count room);

  /// C = op(A) op(B), added to C if s.add. A and B are bf16 or float; C is float or has the format of A. `timed`: the
  /// first matmul of a shape, unless it adds to C, times the available algorithms. They all write to C, so the search
  /// needs no extra memory. Timing pays off for recurring shapes. `bias`: one element in C's format for every column of
  /// C, whose rows must then be contiguous. Returns true if the epilogue has added the bias, with one rounding of the
  /// sum; false if there is no bias, no algorithm supports it, or results must be deterministic.
  bool matmul(const MatmulShape& s, bool from_bf16, bool to_f32, const void* a, const void* b, void* c,
              bool timed = true, const void* bias = nullptr);

  /// Makes results bit-identical across processes: uses cuBLASLt's first suggestion instead of the fastest algorithm,
  /// and adds biases in a separate kernel, which supports every shape.
  void set_deterministic(bool on) {
    if (on != deterministic_) forget_products();
    deterministic_ = on;
  }

 private:
  void open(int index);
  Bytes pool(cudaMemPoolAttr what) const;
  /// Memory of graphs, which is outside the pool.
  Count graph_bytes(cudaGraphMemAttributeType what) const;
  Bytes outside() const;

  struct Operands {
    const void *a, *b, *bias;
  };
  /// A shape, its formats, and the alignments of A, B, C and the bias; 0: no bias.
  struct Key {
    MatmulShape shape;
    bool from_bf16, to_f32;
    unsigned alignment[4];
    auto operator<=>(const Key&) const = default;
  };
  /// `bias`: added in the epilogue; may be null.
  Product described(const Key& key, const void* bias);
  void forget_products();
  /// cuBLASLt's suggestions, fastest by its estimate first.
  struct Suggestions {
    std::array<cublasLtMatmulHeuristicResult_t, 8> all{};
    int count = 0;
  };
  Suggestions suggested(const Product& p, const Key& key) const;  ///< empty if no algorithm supports the matmul
  /// Plans a matmul with the bias in the epilogue, if possible.
  Product planned(const Key& key, const Operands& from, void* c, bool search);
  /// Chooses the first suggestion or, if `search`, the fastest one, timed with C as output. Returns false if all fail.
  bool choose(Product& p, const Key& key, const Operands& from, void* c, bool search);
  template <typename F>
  float milliseconds(const F& run);
  cublasStatus_t multiply(const Product& p, const cublasLtMatmulAlgo_t& algorithm, bool add, const Operands& from,
                          void* c);

  /// Pinned host memory of a transfer, in use until the event occurs.
  struct Staged {
    std::byte* data = nullptr;
    Count bytes = 0;
    cudaEvent_t used = nullptr;
  };
  Staged& staged(Count bytes);

  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  GpuGraph* recording_ = nullptr;
  std::vector<Staged> staged_;
  cublasLtHandle_t blas_ = nullptr;
  void* workspace_ = nullptr;
  MemoryPoints points_;
  std::map<Key, Product> products_;
  bool deterministic_ = false;
};

#ifdef __CUDACC__
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

template <typename Kernel>
void GpuDevice::launch(const Kernel& kernel, Count blocks, int threads, Count room) {
  constexpr Count usual_room = 48 * 1024;
  if (blocks > std::numeric_limits<int>::max())
    check(cudaErrorInvalidConfiguration, "launching more blocks than a grid has");
  if (room > usual_room)
    check(cudaFuncSetAttribute(entry<Kernel>(), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(room)),
          "requesting shared memory");
  Kernel given = kernel;
  __builtin_clear_padding(&given);  // argument checkers would mistake stack contents in the padding for pointers
  entry<Kernel>()<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), static_cast<std::size_t>(room),
                    stream_>>>(given);
  check(cudaGetLastError(), "launching a kernel");
}
#endif

}  // namespace llmcalc::model::cuda
