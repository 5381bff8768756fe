#pragma once
/// Many Philox blocks in parallel.

#include "model/cpu/parallel.hpp"
#include "model/random.hpp"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace llmcalc::model::LLMCALC_ISA {

inline constexpr Count philox_blocks = 32;

#ifdef __AVX512F__

/// The low and high halves of 16 products of 32-bit integers, which compilers would otherwise compute with slow 64-bit
/// products. All-ones masks avoid a warning of GCC 12 in a GCC header (GCC bug 105593).
struct Product32 {
  __m512i low, high;
  Product32(__m512i a, std::uint32_t by) {
    const __m512i b = _mm512_set1_epi64(by);
    const __m512i even = _mm512_maskz_mul_epu32(0xff, a, b),
                  odd = _mm512_maskz_mul_epu32(0xff, _mm512_maskz_srli_epi64(0xff, a, 32), b);
    low = _mm512_mask_mov_epi32(even, 0xaaaa, _mm512_maskz_slli_epi64(0xff, odd, 32));
    high = _mm512_mask_mov_epi32(_mm512_maskz_srli_epi64(0xff, even, 32), 0xaaaa, odd);
  }
};

/// Sixteen blocks during the rounds of philox_round. Lane 4 q + j is block 4 j + q, so a block's words end up adjacent.
struct SixteenBlocks {
  __m512i c[4];

  static __m512i all(std::uint32_t x) { return _mm512_set1_epi32(static_cast<std::int32_t>(x)); }
  explicit SixteenBlocks(const RandomWords& start)
      : c{_mm512_add_epi32(all(start.word[0]), _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)),
          all(start.word[1]), all(0), all(0)} {}

  void round(const RandomKey& key) {
    const Product32 a(c[0], 0xD2511F53U), b(c[2], 0xCD9E8D57U);
    c[0] = _mm512_xor_si512(_mm512_xor_si512(b.high, c[1]), all(key.word[0]));
    c[1] = b.low;
    c[2] = _mm512_xor_si512(_mm512_xor_si512(a.high, c[3]), all(key.word[1]));
    c[3] = a.low;
  }

  /// Stores word w of block i in words[4 i + w].
  void store(std::uint32_t* words) const {
    const __m512i left[2] = {_mm512_maskz_unpacklo_epi32(0xffff, c[0], c[1]),
                             _mm512_maskz_unpackhi_epi32(0xffff, c[0], c[1])};
    const __m512i right[2] = {_mm512_maskz_unpacklo_epi32(0xffff, c[2], c[3]),
                              _mm512_maskz_unpackhi_epi32(0xffff, c[2], c[3])};
    for (int i = 0; i < 2; ++i) {
      _mm512_storeu_si512(words + 32 * i, _mm512_maskz_unpacklo_epi64(0xff, left[i], right[i]));
      _mm512_storeu_si512(words + 32 * i + 16, _mm512_maskz_unpackhi_epi64(0xff, left[i], right[i]));
    }
  }
};

/// Generates blocks [first, first + 32), where first is a multiple of 32: word w of block i is words[4 i + w].
/// Interleaves two sets of sixteen, since each round depends on the one before.
inline void philox_words(RandomKey key, std::uint64_t first, std::uint32_t* words) {
  SixteenBlocks left(random_counter(first)), right(random_counter(first + 16));
  for (int round = 0; round < 10; ++round) {
    left.round(key);
    right.round(key);
    key.word[0] += 0x9E3779B9U;
    key.word[1] += 0xBB67AE85U;
  }
  left.store(words);
  right.store(words + 64);
}

#else

inline void philox_words(RandomKey key, std::uint64_t first, std::uint32_t* words) {
#pragma omp simd
  for (Count i = 0; i < philox_blocks; ++i) {
    const RandomWords r = philox(key, random_counter(first + static_cast<std::uint64_t>(i)));
    words[4 * i] = r.word[0];
    words[4 * i + 1] = r.word[1];
    words[4 * i + 2] = r.word[2];
    words[4 * i + 3] = r.word[3];
  }
}

#endif

}  // namespace llmcalc::model::LLMCALC_ISA
