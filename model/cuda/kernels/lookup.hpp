#pragma once
/// Gradients of table rows, by token id or position, summed over their tokens.

#include <vector>

#include "model/cuda/fast/replay.hpp"
#include "model/cuda/kernels/pack.hpp"

namespace llmcalc::model::cuda {

/// dtable of a position += dy of every sequence at that position, in order.
template <typename Device, typename T>
void position_sums(Device& device, const Lookup& s, Count queries, const Moved<Count>& past, const T* dy,
                   Wide<T>* table) {
  everywhere(device, queries * s.width, [=] LLMCALC_DEVICE(Count i) {
    Wide<T> sum = table[past.now() * s.width + i];
    for (Count t = i; t < s.tokens * s.width; t += queries * s.width) sum += wide(dy[t]);
    table[past.now() * s.width + i] = sum;
  });
}

/// The tokens of every id, in order: bucket b contains token[first[b]], ..., token[first[b + 1] - 1], which all have id
/// row[b]. There are as many buckets as tokens; unused buckets at the end are empty. Stored as three consecutive
/// arrays: first, token, row.
inline Count bucket_numbers(Count tokens) { return 3 * tokens + 1; }
inline void make_buckets(Count tokens, Count rows, const std::int64_t* ids, Count* to) {
  Count *const first = to, *const token = to + tokens + 1, *const row = token + tokens;
  std::vector<Count> next(static_cast<std::size_t>(rows) + 1);
  for (Count t = 0; t < tokens; ++t) ++next[static_cast<std::size_t>(ids[t]) + 1];
  Count bucket = 0;
  for (Count r = 0; r < rows; ++r) {
    const auto at = static_cast<std::size_t>(r);
    if (next[at + 1] > 0) {
      first[bucket] = next[at];
      row[bucket++] = r;
    }
    next[at + 1] += next[at];
  }
  for (; bucket <= tokens; ++bucket) {
    first[bucket] = tokens;
    if (bucket < tokens) row[bucket] = 0;
  }
  for (Count t = 0; t < tokens; ++t) token[next[static_cast<std::size_t>(ids[t])]++] = t;
}

/// dtable[row] += the gradients of the tokens in a bucket, in order; a block per bucket. N divides the width.
template <typename T, int N>
struct BucketSums {
  Count width, tokens;
  const Count* buckets;
  const T* dy;
  float* table;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count bucket = t.block(), begin = buckets[bucket], end = buckets[bucket + 1];
    const Count *const token = buckets + tokens + 1, *const row = token + tokens;
    if (begin == end) return;
    in_block(t, width / N, [&](Count i) {
      Pack<float, N>* const to = packs<N>(table + row[bucket] * width) + i;
      Pack<float, N> sum = *to;
      LLMCALC_UNROLL_4
      for (Count k = begin; k < end; ++k) {
        const Pack<T, N> p = load<N>(dy + token[k] * width + i * N);
        for (int n = 0; n < N; ++n) sum.x[n] += wide(p.x[n]);
      }
      *to = sum;
    });
  }
};

template <typename Device, typename T>
void bucket_sums(Device& device, const Lookup& s, const Count* buckets, const T* dy, float* table) {
  constexpr int N = pack_of<T>, threads = 128;
  if (s.tokens == 0) return;
  s.width % N == 0 && at_packs<N>(dy) && at_packs<N>(table)
      ? device.launch(BucketSums<T, N>{s.width, s.tokens, buckets, dy, table}, s.tokens, threads, 0)
      : device.launch(BucketSums<T, 1>{s.width, s.tokens, buckets, dy, table}, s.tokens, threads, 0);
}

}  // namespace llmcalc::model::cuda
