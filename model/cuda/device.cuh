#pragma once
/// A GPU: memory, launches, and products of matrices by cuBLASLt. One stream.

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

/// Throws DeviceError, or DeviceMemoryError where the device's memory is full. `what`: "allocating memory".
void check(cudaError_t e, const char* what);
void check(cublasStatus_t s, const char* what);
/// Checks an allocation of the host's memory.
void check_host(cudaError_t e);

/// One product as cuBLASLt sees it: descriptors that are made once, and the algorithm that was fastest.
struct Product {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  bool adds_bias = false;  ///< in its epilogue; where the bias lies is told before every run
  bool timed = false;      ///< the algorithm was the fastest of those tried; else it is cuBLASLt's first suggestion
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
  /// Bytes that other programs and this one leave free.
  Count available() const;

  /// The use of memory: read when the device was opened, and now.
  MemoryPoints memory() const;
  /// As Instruments'.
  void reset_memory();
  void kernels_loaded();
  using Graph = GpuGraph;
  /// The recording that captures calls instead of running them; null: calls run.
  GpuGraph* recording() const { return recording_; }
  void set_recording(GpuGraph* graph) { recording_ = graph; }
  cudaStream_t stream() const { return stream_; }
  /// Gives back what the pool holds and nobody uses; and what graphs hold that do not run.
  void trim();
  void trim_graphs();

  /// Runs a kernel with `room` bytes of shared memory. Defined where device code is compiled.
  template <typename Kernel>
  void launch(const Kernel& kernel, Count blocks, int threads, Count room);

  /// C = op(A) op(B), added to C if s.add; numbers of A and B are bf16 or float, of C float or as those of A.
  /// `timed`: the first of a shape that is not added times algorithms, into C, which it overwrites: a search takes no
  /// memory of its own. It pays where a shape comes again and again. `bias`: a number as C's for every column of C,
  /// whose rows then lie side by side. True: the epilogue has added it, and the sum was rounded once; false: there is
  /// none, no algorithm can, or results are deterministic.
  bool matmul(const MatmulShape& s, bool from_bf16, bool to_f32, const void* a, const void* b, void* c,
              bool timed = true, const void* bias = nullptr);

  /// The same bits in every process: products by cuBLASLt's first suggestion, whatever is fastest, and biases by a
  /// kernel after them, which there is for every shape.
  void set_deterministic(bool on) {
    if (on != deterministic_) forget_products();
    deterministic_ = on;
  }

 private:
  void open(int index);
  Bytes pool(cudaMemPoolAttr what) const;
  /// That graphs hold beside the pool.
  Count graph_bytes(cudaGraphMemAttributeType what) const;
  Bytes outside() const;

  struct Operands {
    const void *a, *b, *bias;
  };
  /// A shape, its formats, and how well A, B, C and the bias are aligned; 0: there is no bias.
  struct Key {
    MatmulShape shape;
    bool from_bf16, to_f32;
    unsigned alignment[4];
    auto operator<=>(const Key&) const = default;
  };
  /// `bias`: one that its epilogue adds; may be absent.
  Product described(const Key& key, const void* bias);
  void forget_products();
  /// cuBLASLt's suggestions, the one that it holds for the fastest first.
  struct Suggestions {
    std::array<cublasLtMatmulHeuristicResult_t, 8> all{};
    int count = 0;
  };
  Suggestions suggested(const Product& p, const Key& key) const;  ///< none: no algorithm can
  /// With the bias in its epilogue, where that is possible.
  Product planned(const Key& key, const Operands& from, void* c, bool search);
  /// Chooses the first suggestion, or the fastest after a search, each timed with C as its result; false: none works.
  bool choose(Product& p, const Key& key, const Operands& from, void* c, bool search);
  template <typename F>
  float milliseconds(const F& run);
  cublasStatus_t multiply(const Product& p, const cublasLtMatmulAlgo_t& algorithm, bool add, const Operands& from,
                          void* c);

  /// The host's memory on its way: pinned, in use until the event.
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
          "asking for shared memory");
  Kernel given = kernel;
  __builtin_clear_padding(&given);  // what the stack left there would look like pointers to whoever checks them
  entry<Kernel>()<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), static_cast<std::size_t>(room),
                    stream_>>>(given);
  check(cudaGetLastError(), "launching a kernel");
}
#endif

}  // namespace llmcalc::model::cuda
