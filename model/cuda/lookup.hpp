#pragma once
/// Rows of tables, of token ids or of positions, and what they gather; rows of caches.

#include <vector>

#include "model/cuda/pointwise.hpp"
#include "model/cuda/replay.hpp"

namespace llmcalc::model::cuda {

/// y of token t = row ids[t] of the table.
template <typename Device, typename T>
void token_rows(Device& device, const Lookup& s, const std::int64_t* ids, const T* table, T* y) {
  everywhere(device, mul(s.tokens, s.width),
             [=] LLMCALC_DEVICE(Count i) { y[i] = table[ids[i / s.width] * s.width + i % s.width]; });
}
/// y of token t = the row of its position.
template <typename Device, typename T>
void position_rows(Device& device, const Lookup& s, Count queries, const Moved<Count>& past, const T* table, T* y) {
  everywhere(device, mul(s.tokens, s.width), [=] LLMCALC_DEVICE(Count i) {
    y[i] = table[(past.now() + i / s.width % queries) * s.width + i % s.width];
  });
}
/// dtable of a position += dy of every sequence there, in order.
template <typename Device, typename T>
void position_sums(Device& device, const Lookup& s, Count queries, const Moved<Count>& past, const T* dy,
                   Wide<T>* table) {
  everywhere(device, queries * s.width, [=] LLMCALC_DEVICE(Count i) {
    Wide<T> sum = table[past.now() * s.width + i];
    for (Count t = i; t < s.tokens * s.width; t += queries * s.width) sum += wide(dy[t]);
    table[past.now() * s.width + i] = sum;
  });
}

/// Token t of a sequence into slot (past + t) mod capacity of its cache.
template <typename Device, typename T>
void cache_rows(Device& device, Count sequences, Count queries, const Moved<Count>& past, const T* x, Count x_stride,
                Count width, T* to, Count row, Count capacity) {
  everywhere(device, sequences * queries * width, [=] LLMCALC_DEVICE(Count i) {
    const Count token = i / width, s = token / queries, slot = (past.now() + token % queries) % capacity;
    to[(s * capacity + slot) * row + i % width] = x[token * x_stride + i % width];
  });
}

/// The tokens of every id, in order: those of bucket b are token[first[b]] to token[first[b + 1]], their id row[b]. As
/// many buckets as tokens, the last of them empty. Three arrays one after another: first, token, row.
inline Count bucket_numbers(Count tokens) { return 3 * tokens + 1; }
inline void make_buckets(Count tokens, Count rows, const std::int64_t* ids, Count* to) {
  Count *const first = to, *const token = to + tokens + 1, *const row = token + tokens;
  std::vector<Count> next(static_cast<std::size_t>(rows) + 1);
  for (Count t = 0; t < tokens; ++t) ++next[static_cast<std::size_t>(ids[t]) + 1];
  Count bucket = 0;
  for (Count r = 0; r < rows; ++r) {
    const auto at = static_cast<std::size_t>(r);
    if (next[at + 1] > 0) first[bucket] = next[at], row[bucket++] = r;
    next[at + 1] += next[at];
  }
  for (; bucket <= tokens; ++bucket) {
    first[bucket] = tokens;
    if (bucket < tokens) row[bucket] = 0;
  }
  for (Count t = 0; t < tokens; ++t) token[next[static_cast<std::size_t>(ids[t])]++] = t;
}

/// dtable[row] += the gradients of the tokens in a bucket, in order; a block per bucket.
template <typename T>
struct BucketSums {
  Count width, tokens;
  const Count* buckets;
  const T* dy;
  Wide<T>* table;

  template <typename Thread>
  LLMCALC_HD void operator()(const Thread& t) const {
    const Count bucket = t.block(), begin = buckets[bucket], end = buckets[bucket + 1];
    const Count *const token = buckets + tokens + 1, *const row = token + tokens;
    if (begin == end) return;
    in_block(t, width, [&](Count i) {
      Wide<T> sum = table[row[bucket] * width + i];
      for (Count k = begin; k < end; ++k) sum += wide(dy[token[k] * width + i]);
      table[row[bucket] * width + i] = sum;
    });
  }
};

}  // namespace llmcalc::model::cuda
