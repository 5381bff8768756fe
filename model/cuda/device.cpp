#include "model/cuda/device.cuh"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace llmcalc::model::cuda {
namespace {

/// Workspace size that cuBLASLt's documentation recommends for Hopper.
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

/// The alignment that algorithms may rely on: the largest power of two up to 256 that divides the pointer; 0 for null.
unsigned alignment_of(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return static_cast<unsigned>(std::min<std::uintptr_t>(256, address & (~address + 1)));
}

cudaDataType_t type_of(bool is_f32) { return is_f32 ? CUDA_R_32F : CUDA_R_16BF; }

template <typename X>
void set(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t what, const X& value) {
  check(cublasLtMatmulDescSetAttribute(d, what, &value, sizeof value), "describing a matmul");
}
template <typename X>
void set(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t what, const X& value) {
  check(cublasLtMatmulPreferenceSetAttribute(p, what, &value, sizeof value), "setting a matmul preference");
}

std::string gib(std::size_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text.data();
}

DeviceError failed(const char* what, const std::string& why) {
  return DeviceError(std::string("GPU error while ") + what + ": " + why +
                     "; rerun, and if the error persists, check the driver's messages (dmesg, nvidia-smi)");
}

[[noreturn]] void refuse_memory(const std::string& what) {
  std::size_t free = 0, all = 0;
  const bool known = cudaMemGetInfo(&free, &all) == cudaSuccess;
  (void)cudaGetLastError();
  throw DeviceMemoryError(
      "the GPU ran out of memory while " + what + (known ? ": " + gib(free) + " of " + gib(all) + " are free" : "") +
      "; use a smaller model, batch size or sequence length, or close other programs that use the GPU");
}

void destroy(const Product& p) {
  cublasLtMatmulDescDestroy(p.operation);
  for (const cublasLtMatrixLayout_t l : {p.a, p.b, p.c}) cublasLtMatrixLayoutDestroy(l);
}

}  // namespace

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  (void)cudaGetLastError();  // reported here, so that the next launch does not report it again
  if (e == cudaErrorMemoryAllocation) refuse_memory(what);
  throw failed(what, cudaGetErrorString(e));
}
void check_host(cudaError_t e) {
  if (e == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw DeviceError("out of pinned host memory; close other programs");
  }
  check(e, "allocating host memory");
}
void check(cublasStatus_t s, const char* what) {
  if (s == CUBLAS_STATUS_ALLOC_FAILED) refuse_memory(what);
  if (s != CUBLAS_STATUS_SUCCESS) throw failed(what, std::string("cuBLASLt error ") + cublasLtGetStatusString(s));
}

GpuDevice::GpuDevice(int index) {
  try {
    open(index);
  } catch (...) {  // a destructor does not run if its constructor fails
    if (blas_ != nullptr) cublasLtDestroy(blas_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    throw;
  }
}

void GpuDevice::open(int index) {
  check(cudaSetDevice(index), "selecting the device");
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  // The pool keeps released memory, since steps repeatedly allocate the same blocks.
  check(cudaDeviceGetDefaultMemPool(&pool_, index), "querying the memory pool");
  std::uint64_t all = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all), "setting up the memory pool");
  points_.context = outside();
  check(cublasLtCreate(&blas_), "starting");
  points_.libraries = points_.kernels = outside();
  workspace_ = allocate(static_cast<Count>(workspace_bytes));
}

GpuDevice::~GpuDevice() {
  forget_products();
  cudaFreeAsync(workspace_, stream_);
  cudaStreamSynchronize(stream_);
  for (const Staged& s : staged_) {
    cudaFreeHost(s.data);
    cudaEventDestroy(s.used);
  }
  cublasLtDestroy(blas_);
  cudaStreamDestroy(stream_);
}

void* GpuDevice::allocate(Count bytes) {
  void* p = nullptr;
  const auto size = static_cast<std::size_t>(std::max<Count>(bytes, 1));  // 0 bytes would give null
  cudaError_t e = cudaMallocAsync(&p, size, stream_);
  if (e == cudaErrorMemoryAllocation && recording_ == nullptr) {
    (void)cudaGetLastError();
    wait();
    trim_graphs();
    e = cudaMallocAsync(&p, size, stream_);
  }
  if (e == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    refuse_memory("allocating " + gib(size));
  }
  check(e, "allocating memory");
  return p;
}
/// Called by destructors, which must not throw: the next call that may throw reports earlier errors.
void GpuDevice::release(void* p, Count) { cudaFreeAsync(p, stream_); }
void GpuDevice::fill(void* p, int byte, Count bytes) {
  if (bytes == 0) return;
  check(cudaMemsetAsync(p, byte, static_cast<std::size_t>(bytes), stream_), "filling memory");
}
void GpuDevice::upload(void* to, const void* from, Count bytes) {
  constexpr Count most_staged = Count{4} << 20;
  if (bytes == 0) return;
  const auto size = static_cast<std::size_t>(bytes);
  if (recording_ != nullptr) {
    const GpuGraph::Room room = recording_->room(bytes);
    std::memcpy(room.host, from, size);
    return copy(to, room.device, bytes);
  }
  if (bytes > most_staged) {
    check(cudaMemcpyAsync(to, from, size, cudaMemcpyHostToDevice, stream_), "uploading");
    return wait();  // `from` may be freed afterward
  }
  const Staged& s = staged(bytes);
  std::memcpy(s.data, from, size);
  check(cudaMemcpyAsync(to, s.data, size, cudaMemcpyHostToDevice, stream_), "uploading");
  check(cudaEventRecord(s.used, stream_), "recording an event");
}
GpuDevice::Staged& GpuDevice::staged(Count bytes) {
  for (Staged& s : staged_)
    if (s.bytes >= bytes) {
      const cudaError_t e = cudaEventQuery(s.used);
      if (e == cudaSuccess) return s;
      if (e != cudaErrorNotReady) check(e, "querying an event");
      (void)cudaGetLastError();
    }
  Staged s;
  s.bytes = static_cast<Count>(std::bit_ceil(static_cast<std::uint64_t>(std::max(bytes, Count{1} << 16))));
  void* data = nullptr;
  check_host(cudaMallocHost(&data, static_cast<std::size_t>(s.bytes)));
  s.data = static_cast<std::byte*>(data);
  check(cudaEventCreateWithFlags(&s.used, cudaEventDisableTiming), "creating an event");
  return staged_.emplace_back(s);
}
void GpuDevice::download(void* to, const void* from, Count bytes) {
  if (recording_ != nullptr) throw std::runtime_error("the host reads results during the recording");
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream_), "downloading");
  wait();
}
void GpuDevice::copy(void* to, const void* from, Count bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream_), "copying");
}
void GpuDevice::wait() {
  if (recording_ != nullptr) throw std::runtime_error("the host waits during the recording");
  check(cudaStreamSynchronize(stream_), "waiting for the device");
}
void GpuDevice::trim() { check(cudaMemPoolTrimTo(pool_, 0), "releasing memory"); }
void GpuDevice::trim_graphs() {
  int device = 0;
  check(cudaGetDevice(&device), "querying the device");
  check(cudaDeviceGraphMemTrim(device), "releasing graph memory");
}

Count GpuDevice::graph_bytes(cudaGraphMemAttributeType what) const {
  int device = 0;
  std::uint64_t bytes = 0;
  check(cudaGetDevice(&device), "querying the device");
  check(cudaDeviceGetGraphMemAttribute(device, what, &bytes), "querying graph memory");
  return static_cast<Count>(bytes);
}

Count GpuDevice::capacity() const {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "querying the memory size");
  return static_cast<Count>(all);
}
Count GpuDevice::available() const {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "querying free memory");
  const Bytes unused = pool(cudaMemPoolAttrReservedMemCurrent) - pool(cudaMemPoolAttrUsedMemCurrent);
  return static_cast<Count>(free) + unused.value;
}

Bytes GpuDevice::pool(cudaMemPoolAttr what) const {
  std::uint64_t bytes = 0;
  check(cudaMemPoolGetAttribute(pool_, what, &bytes), "querying the memory pool");
  return Bytes(static_cast<Count>(bytes));
}

Bytes GpuDevice::outside() const {
  const MemoryPoints now = memory();
  return now.used - now.pool - now.graphs;
}

MemoryPoints GpuDevice::memory() const {
  MemoryPoints p = points_;
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "querying used memory");
  p.used = Bytes(static_cast<Count>(all - free));
  p.pool = pool(cudaMemPoolAttrReservedMemCurrent);
  p.pool_most = pool(cudaMemPoolAttrUsedMemHigh);
  p.workspaces = {{"cuBLASLt workspace", Bytes(static_cast<Count>(workspace_bytes)), "for matmuls"}};
  p.graphs = Bytes(graph_bytes(cudaGraphMemAttrReservedMemCurrent));
  return p;
}

void GpuDevice::reset_memory() {
  wait();
  trim();
  trim_graphs();
  std::uint64_t none = 0;
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &none), "resetting the memory counter");
}
void GpuDevice::kernels_loaded() { points_.kernels = outside(); }

void GpuDevice::forget_products() {
  for (const auto& [key, p] : products_) destroy(p);
  products_.clear();
}

/// Row-major C = op(A) op(B) is column-major C' = op(B)' op(A)', with every matrix as stored. A bias with an element
/// per column of C has one per row of C', as the bias epilogue requires; its format is C's.
Product GpuDevice::described(const Key& key, const void* bias) {
  const MatmulShape& s = key.shape;
  const auto size = [](Count n) { return static_cast<std::uint64_t>(n); };
  Product p;
  check(cublasLtMatmulDescCreate(&p.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a matmul");
  set(p.operation, CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(p.operation, CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  p.adds_bias = bias != nullptr;
  if (p.adds_bias) {
    set(p.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(p.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);  // suggestions depend on its alignment
  }
  const cudaDataType_t from = type_of(!key.from_bf16), to = type_of(key.to_f32);
  check(cublasLtMatrixLayoutCreate(&p.a, from, size(s.transpose_b ? s.k : s.n), size(s.transpose_b ? s.n : s.k), s.ldb),
        "describing a matrix layout");
  check(cublasLtMatrixLayoutCreate(&p.b, from, size(s.transpose_a ? s.m : s.k), size(s.transpose_a ? s.k : s.m), s.lda),
        "describing a matrix layout");
  check(cublasLtMatrixLayoutCreate(&p.c, to, size(s.n), size(s.m), s.ldc), "describing a matrix layout");
  return p;
}

cublasStatus_t GpuDevice::multiply(const Product& p, const cublasLtMatmulAlgo_t& algorithm, bool add,
                                   const Operands& from, void* c) {
  const float one = 1, beta = add ? 1 : 0;
  if (p.adds_bias) set(p.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, from.bias);
  return cublasLtMatmul(blas_, p.operation, &one, from.b, p.a, from.a, p.b, &beta, c, p.c, c, p.c, &algorithm,
                        workspace_, workspace_bytes, stream_);
}

/// Milliseconds per call of run(), which returns whether it succeeded; infinity if a call fails.
template <typename F>
float GpuDevice::milliseconds(const F& run) {
  constexpr int times = 3;
  cudaEvent_t start = nullptr, end = nullptr;
  check(cudaEventCreate(&start), "creating an event");
  check(cudaEventCreate(&end), "creating an event");
  bool works = run();
  check(cudaEventRecord(start, stream_), "recording an event");
  for (int i = 0; i < times && works; ++i) works = run();
  check(cudaEventRecord(end, stream_), "recording an event");
  check(cudaEventSynchronize(end), "timing a matmul");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start, end), "timing a matmul");
  cudaEventDestroy(start);
  cudaEventDestroy(end);
  return works ? ms / times : std::numeric_limits<float>::infinity();
}

GpuDevice::Suggestions GpuDevice::suggested(const Product& p, const Key& key) const {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "setting a matmul preference");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  // Partial sums of a bfloat16 result are added in float32, not rounded one by one.
  const std::uint32_t sums = key.to_f32 ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, sums);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.alignment[1]);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.alignment[0]);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.alignment[2]);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.alignment[2]);
  Suggestions s;
  const cublasStatus_t found = cublasLtMatmulAlgoGetHeuristic(blas_, p.operation, p.a, p.b, p.c, p.c, preference,
                                                              static_cast<int>(s.all.size()), s.all.data(), &s.count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (found == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(found, "choosing a matmul algorithm");
  return s;
}

bool GpuDevice::choose(Product& p, const Key& key, const Operands& from, void* c, bool search) {
  const Suggestions suggestions = suggested(p, key);
  if (suggestions.count == 0) return false;
  p.algorithm = suggestions.all[0].algo;
  float least = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; search && i < static_cast<std::size_t>(suggestions.count); ++i) {
    const cublasLtMatmulAlgo_t& one = suggestions.all[i].algo;
    const float ms = milliseconds([&] { return multiply(p, one, false, from, c) == CUBLAS_STATUS_SUCCESS; });
    if (ms < least) {
      least = ms;
      p.algorithm = one;
    }
  }
  p.timed = search;
  return !search || least < std::numeric_limits<float>::infinity();
}

Product GpuDevice::planned(const Key& key, const Operands& from, void* c, bool search) {
  if (from.bias != nullptr && !deterministic_) {
    Product p = described(key, from.bias);
    if (choose(p, key, from, c, search)) return p;
    destroy(p);
  }
  Product p = described(key, nullptr);
  if (!choose(p, key, from, c, search)) check(CUBLAS_STATUS_NOT_SUPPORTED, "choosing a matmul algorithm");
  return p;
}

bool GpuDevice::matmul(const MatmulShape& s, bool from_bf16, bool to_f32, const void* a, const void* b, void* c,
                       bool timed, const void* bias) {
  const Operands from{a, b, bias};
  Key key{s, from_bf16, to_f32, {alignment_of(a), alignment_of(b), alignment_of(c), alignment_of(bias)}};
  key.shape.add = false;  // adding C changes no descriptor and rarely the best algorithm
  const bool search = timed && !s.add && !deterministic_ && recording_ == nullptr;
  auto at = products_.find(key);
  if (at != products_.end() && search && !at->second.timed) {
    destroy(at->second);
    products_.erase(at);
    at = products_.end();
  }
  if (at == products_.end()) at = products_.emplace(key, planned(key, from, c, search)).first;
  check(multiply(at->second, at->second.algorithm, s.add, from, c), "running a matmul");
  return at->second.adds_bias;
}

}  // namespace llmcalc::model::cuda
