#pragma once
/// Floats in registers, as GCC vectors.

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "model/cpu/parallel.hpp"

#if defined(__AVX512F__) || defined(__F16C__)
#include <immintrin.h>
#endif

namespace llmcalc::model::LLMCALC_ISA {

/// Number of floats per register. GCC keeps wider vectors in memory.
#if defined(__AVX512F__)
inline constexpr Count register_floats = 16;
#elif defined(__AVX2__)
inline constexpr Count register_floats = 8;
#else
inline constexpr Count register_floats = 4;
#endif

template <Count n>
struct VectorOf {
  typedef float Floats __attribute__((vector_size(4 * n)));
  typedef std::uint32_t Words __attribute__((vector_size(4 * n)));
  typedef std::uint16_t Halves __attribute__((vector_size(2 * n)));
};
template <Count n>
using Floats = typename VectorOf<n>::Floats;

/// Loads n elements from memory.
template <Count n>
LLMCALC_INLINE Floats<n> take(const float* from) {
  Floats<n> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <Count n>
LLMCALC_INLINE Floats<n> take(const bf16* from) {
  typename VectorOf<n>::Halves bits;
  std::memcpy(&bits, from, sizeof bits);
  return std::bit_cast<Floats<n>>(__builtin_convertvector(bits, typename VectorOf<n>::Words) << 16U);
}

template <Count n>
LLMCALC_INLINE Floats<n> take(const fp16* from) {
#if defined(__AVX512F__)
  if constexpr (n == 16)
    return std::bit_cast<Floats<n>>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#endif
#if defined(__F16C__)
  if constexpr (n == 8)
    return std::bit_cast<Floats<n>>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#endif
  Floats<n> v;
  for (Count i = 0; i < n; ++i) v[i] = wide(from[i]);
  return v;
}

/// The sum of n floats. Adds halves to each other until four floats are left.
template <Count n>
LLMCALC_INLINE float added_up(const Floats<n> v) {
  if constexpr (n == 4)
    return (v[0] + v[2]) + (v[1] + v[3]);
  else
    return [&]<int... i>(std::integer_sequence<int, i...>) {
      constexpr int half = sizeof...(i);
      return added_up<half>(__builtin_shufflevector(v, v, i...) + __builtin_shufflevector(v, v, half + i...));
    }
  (std::make_integer_sequence<int, n / 2>());
}

}  // namespace llmcalc::model::LLMCALC_ISA
