#pragma once
/// Stores of results: as computed, or in 16 bits through a buffer of floats, which processors with instructions for
/// that round sixteen at a time.

#include "model/cpu/parallel.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace llmcalc::model::LLMCALC_ISA {

/// to[i] = from[i], rounded.
inline void narrow_by_software(Count n, const float* from, bf16* to) {
  lanes<bf16>(0, n, [=](Count i) { to[i] = bf16(from[i]); });
}

#ifdef __AVX512F__

/// to[i] = from[i], rounded by the processor's instruction. It flushes numbers below 2^-126 to 0, so blocks that
/// contain any are rounded in software.
[[gnu::target("avx512bf16")]] inline void narrow_by_instruction(Count n, const float* from, bf16* to) {
  __mmask16 tiny = 0;
  for (Count i = 0; i < n; i += 16) {
    const __mmask16 there = n - i >= 16 ? __mmask16(0xffff) : static_cast<__mmask16>((1U << (n - i)) - 1);
    const __m512 x = _mm512_maskz_loadu_ps(there, from + i);
    constexpr int denormal = 0x20;
    tiny = static_cast<__mmask16>(tiny | _mm512_fpclass_ps_mask(x, denormal));
    _mm256_mask_storeu_epi16(to + i, there, std::bit_cast<__m256i>(_mm512_cvtneps_pbh(x)));
  }
  if (tiny != 0) narrow_by_software(n, from, to);
}

inline void narrow(Count n, const float* from, bf16* to) {
  static const bool has_instruction = __builtin_cpu_supports("avx512bf16");
  has_instruction ? narrow_by_instruction(n, from, to) : narrow_by_software(n, from, to);
}

/// The same in half precision, which every processor with AVX-512 rounds by an instruction.
inline void narrow(Count n, const float* from, fp16* to) {
  for (Count i = 0; i < n; i += 16) {
    const __mmask16 there = n - i >= 16 ? __mmask16(0xffff) : static_cast<__mmask16>((1U << (n - i)) - 1);
    const __m512 x = _mm512_maskz_loadu_ps(there, from + i);
    _mm256_mask_storeu_epi16(to + i, there, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
}

#endif

/// to[i] = f(i) for i in [first, last), or added to it. The branch is outside the loop so that it vectorises.
template <typename T, typename F>
LLMCALC_FLAT void put_lanes(Count first, Count last, T* to, bool add, const F f) {
#ifdef __AVX512F__
  if constexpr (sizeof(T) == 2) {
    constexpr Count block = 128;
    float buffer[block];
    for (Count at = first; at < last; at += block) {
      const Count n = std::min(block, last - at);
      if (add)
        lanes<T>(0, n, [=, &buffer](Count i) { buffer[i] = wide(to[at + i]) + f(at + i); });
      else
        lanes<T>(0, n, [=, &buffer](Count i) { buffer[i] = f(at + i); });
      narrow(n, buffer, to + at);
    }
    return;
  }
#endif
  if (add)
    lanes<T>(first, last, [=](Count i) { to[i] = static_cast<T>(wide(to[i]) + f(i)); });
  else
    lanes<T>(first, last, [=](Count i) { to[i] = static_cast<T>(f(i)); });
}

/// y[i] = f(i) for every i below n, on all cores; `arrays`, which f reads, are fetched ahead, and y too.
template <typename T, typename F, typename... X>
void put_everywhere(Count n, T* y, const F& f, const X*... arrays) {
  fetched_blocks<T>(
      n, [&](Count first, Count last) { put_lanes(first, last, y, false, f); }, arrays..., y);
}

}  // namespace llmcalc::model::LLMCALC_ISA
