#pragma once
/// What a kernel sees of the thread that runs it. Kernels are functors over a thread of any kind: of a GPU (here), or
/// of tests, which run every one of them on the processor (tests/model/emulated.hpp).

#include <bit>
#include <cstddef>

#include "calc/units.hpp"
#include "model/math/functions.hpp"

namespace llmcalc::model::cuda {

inline constexpr int warp = 32;

#ifdef __CUDACC__
/// Bodies stand only where device code is compiled; no host code ever makes such a thread.
class GpuThread {
 public:
  __device__ Count block() const { return static_cast<Count>(blockIdx.x); }
  __device__ Count blocks() const { return static_cast<Count>(gridDim.x); }
  __device__ int index() const { return static_cast<int>(threadIdx.x); }
  __device__ int size() const { return static_cast<int>(blockDim.x); }
  /// All threads of the block have come so far, and see each other's writes.
  __device__ void sync() const { __syncthreads(); }
  /// The value of the lane whose number differs in these bits; whole warps call it.
  template <typename W>
  __device__ W across(W v, int bits) const {
    return __shfl_xor_sync(0xffffffffU, v, bits);
  }
  /// What is read once and wanted by nobody else: it need not stay near.
  template <typename P>
  __device__ P stream(const P* from) const {
    if constexpr (sizeof(P) == sizeof(uint4))
      return std::bit_cast<P>(__ldcs(reinterpret_cast<const uint4*>(from)));
    else
      return *from;
  }
  /// e^x, by the unit that a GPU has for it.
  __device__ float exp(float x) const { return ::expf(x); }
  /// The block's own memory: as many bytes as the launch asked for.
  __device__ std::byte* room() const {
    extern __shared__ __align__(16) unsigned char shared[];
    return reinterpret_cast<std::byte*>(shared);
  }
};
#endif

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

/// All values of a block of whole warps as one, in a fixed order, the same bits in every thread. `room`: a number per
/// warp, which nobody else uses.
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

/// N sums over groups of `lanes` neighbouring lanes at once: each lane ends with one of them, whose number is returned.
/// Halves are exchanged while there are several (N - 1 exchanges in all, not N per step). N and lanes: powers of two,
/// N no greater.
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

/// f(i) for every i below n, shared out over the threads of a block.
template <typename Thread, typename F>
LLMCALC_HD void in_block(const Thread& t, Count n, const F& f) {
  for (Count i = t.index(); i < n; i += t.size()) f(i);
}

/// f(i) for every i below n, shared out over all threads. Any number of them will do, and none waits for another.
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
