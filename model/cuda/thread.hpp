#pragma once
/// A kernel's view of the thread that runs it. Kernels are functors that accept any kind of thread: a GPU's (here),
/// or a test's, which runs on the CPU (tests/model/emulated.hpp).

#include <bit>
#include <cstddef>

#include "calc/units.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model::cuda {

inline constexpr int warp = 32;

#ifdef __CUDACC__
/// Bodies exist only where device code is compiled; host code never creates a GPU thread.
class GpuThread {
 public:
  __device__ Count block() const { return static_cast<Count>(blockIdx.x); }
  __device__ Count blocks() const { return static_cast<Count>(gridDim.x); }
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  /// Waits for all threads of the block, and makes their writes visible.
  __device__ void sync() const { __syncthreads(); }
  /// The value of the lane whose index differs from this lane's in these bits. Must be called by whole warps.
  template <typename W>
  __device__ W across(W v, int bits) const {
    return __shfl_xor_sync(0xffffffffU, v, bits);
  }
  /// Loads a value that is read only once and need not stay in the cache.
  template <typename P>
  __device__ P stream(const P* from) const {
    if constexpr (sizeof(P) == sizeof(uint4))
      return std::bit_cast<P>(__ldcs(reinterpret_cast<const uint4*>(from)));
    else
      return *from;
  }
  /// e^x, by the GPU's hardware unit.
  __device__ float exp(float x) const { return ::expf(x); }
  /// The block's shared memory, of the size that the launch requested.
  __device__ std::byte* room() const {
    extern __shared__ __align__(16) unsigned char shared[];
    return reinterpret_cast<std::byte*>(shared);
  }

  /// Index in the warp. It is read at every use, because values derived from it would otherwise occupy registers for
  /// a long time.
  __device__ unsigned lane() const {
    unsigned l;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(l));
    return l;
  }

  // ---- operations of whole warps; layouts: model/cuda/fast/mma_tile.hpp
  /// c (16, 8) += a (16, 16) b (16, 8), a and b bf16.
  __device__ void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) const {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, "
        "%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  /// Loads four matrices of 8 rows of 16 bytes; lane l specifies the offset of row l % 8 of matrix l / 8 in shared
  /// memory.
  __device__ void ldmatrix(unsigned (&r)[4], unsigned at) const {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address() + at)
                 : "memory");
  }
  /// ldmatrix with each matrix transposed.
  __device__ void ldmatrix_transposed(unsigned (&r)[4], unsigned at) const {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address() + at)
                 : "memory");
  }

  // ---- asynchronous copies into shared memory
  /// Copies 16 or 4 bytes, aligned to their size; writes zeros unless `there`.
  template <int bytes>
  __device__ void cp_async(unsigned at, const void* from, bool there) const {
    const int read = there ? bytes : 0;
    if constexpr (bytes == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address() + at), "l"(from), "r"(read)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address() + at), "l"(from), "r"(read)
                   : "memory");
  }
  /// Groups the copies started since the last commit.
  __device__ void cp_async_commit() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
  /// Waits until all of this thread's groups except the latest `left` have arrived.
  template <int left>
  __device__ void cp_async_wait() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
  }

 private:
  __device__ unsigned shared_address() const { return static_cast<unsigned>(__cvta_generic_to_shared(room())); }
};
#endif

/// A kernel for a fixed number of threads, which also specifies how many blocks a multiprocessor should hold.
template <typename Kernel>
concept FixedSize = requires {
  Kernel::threads;
  Kernel::blocks_per_multiprocessor;
};

struct Plus {
  template <typename W>
  LLMCALC_HD W operator()(W a, W b) const {
    return a + b;
  }
};
struct Greater {
  template <typename W>
  LLMCALC_HD W operator()(W a, W b) const {
    return b > a ? b : a;
  }
};

/// Combines all values of a block of whole warps, in a fixed order, with the same bits in every thread. `room`: an
/// element per warp, for exclusive use.
template <typename Thread, typename W, typename Join>
LLMCALC_HD W joined(const Thread& t, W v, W* room, const Join& join) {
  for (int bits = warp / 2; bits > 0; bits /= 2) v = join(v, t.across(v, bits));
  if (t.index() % warp == 0) room[t.index() / warp] = v;
  t.sync();
  W all = room[0];
  for (int i = 1; i < t.size() / warp; ++i) all = join(all, room[i]);
  t.sync();
  return all;
}
template <typename Thread, typename W>
LLMCALC_HD W block_sum(const Thread& t, W v, W* room) {
  return joined(t, v, room, Plus());
}
template <typename Thread, typename W>
LLMCALC_HD W block_most(const Thread& t, W v, W* room) {
  return joined(t, v, room, Greater());
}

/// Computes N sums over groups of `lanes` neighboring lanes together: each lane ends with one of the sums, whose index
/// is returned. While several sums remain, lanes exchange halves of them (N - 1 exchanges in all, not N per step). N
/// and lanes: powers of two, N <= lanes.
template <int N, typename Thread, typename W>
LLMCALC_HD int lane_sums(const Thread& t, W* v, int lanes) {
  const int bits = lanes / 2;
  if constexpr (N > 1) {
    const bool upper = (t.index() & bits) != 0;
    LLMCALC_UNROLL
    for (int i = 0; i < N / 2; ++i) {
      const W mine = upper ? v[i + N / 2] : v[i], sent = upper ? v[i] : v[i + N / 2];
      v[i] = mine + t.across(sent, bits);
    }
    return (upper ? N / 2 : 0) + lane_sums<N / 2>(t, v, bits);
  } else {
    for (int b = bits; b > 0; b /= 2) v[0] = v[0] + t.across(v[0], b);
    return 0;
  }
}

/// Calls f(i) for every i below n, distributed over the threads of a block.
template <typename Thread, typename F>
LLMCALC_HD void in_block(const Thread& t, Count n, const F& f) {
  for (Count i = t.index(); i < n; i += t.size()) f(i);
}

/// Calls f(i) for every i below n, distributed over any number of threads, which do not wait for each other.
template <typename F>
struct Everywhere {
  static constexpr bool alone = true;
  Count n;
  F f;
  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    for (Count i = t.block() * t.size() + t.index(); i < n; i += t.blocks() * t.size()) f(i);
  }
};

/// Writes v to *to, or adds it.
template <typename T, typename W>
LLMCALC_HD void put(T* to, W v, bool add) {
  *to = static_cast<T>(add ? wide(*to) + v : v);
}

}  // namespace llmcalc::model::cuda
