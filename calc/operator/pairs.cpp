#include "calc/operator/pairs.hpp"

#include <algorithm>

namespace llmcalc {
namespace {
/// Twice the number of pairs within chunks: of whole chunks and the partial chunk at the end, minus the pairs of past
/// tokens in the first query's chunk.
Count twice_chunk_pairs(Count past, Count keys, Count chunk, AttentionFlops convention) {
  const Count whole = keys / chunk - past / chunk, begin = past % chunk, end = keys % chunk;
  if (convention == AttentionFlops::full) {
    const Count of_the_past = mul(begin, std::min(chunk, keys - past + begin));
    return mul(2, add(mul(whole, chunk, chunk), mul(end, end)) - of_the_past);
  }
  const Count exact = add(mul(whole, chunk, chunk + 1), mul(end, end + 1)) - mul(begin, begin + 1);
  return convention == AttentionFlops::causal_half ? exact - (keys - past) : exact;
}

/// Sum over the first n tokens of the number of whole blocks before the token's block, at most `most` per token.
Count blocks_before(Count n, Count block, Count most) {
  const Count full = std::min(n / block, most);
  return add(mul(block, full * (full - 1) / 2), mul(n - mul(full, block), full));
}
}  // namespace

Count twice_chosen_pairs(Count queries, Count past, const Selection& s, AttentionFlops convention) {
  if (s.block == 0) return twice_pairs(queries, past, Reach{s.keys}, convention);
  const Count keys = add(past, queries), most = s.keys / s.block;
  const Count whole = blocks_before(keys, s.block, most) - blocks_before(past, s.block, most);
  return add(twice_pairs(queries, past, Reach{s.block, true}, convention), mul(2, s.block, whole));
}

Count twice_pairs(Count queries, Count past, const Reach& reach, AttentionFlops convention) {
  const Count keys = add(past, queries), window = reach.held(keys);
  if (reach.chunked && window < keys) return twice_chunk_pairs(past, keys, window, convention);
  if (convention == AttentionFlops::full) return mul(2, queries, window);
  const Count growing = std::clamp<Count>(window - past, 0, queries);  // queries that see fewer keys than the window
  const Count exact = add(mul(growing, add(mul(2, past), growing + 1)), mul(2, queries - growing, window));
  return convention == AttentionFlops::causal_half ? exact - growing : exact;
}

namespace {
/// Number of pairs with pooled keys: token t sees one key per complete group of `pooled` tokens up to t, but no more
/// than the selected number.
Count pooled_pairs(Count queries, Count past, const Pairs& p) {
  const Count keys = add(past, queries), all = keys / p.pooled, most = p.selection.chooses() ? p.selection.keys : all;
  if (p.convention == AttentionFlops::full) return mul(queries, std::min(all, most));
  return blocks_before(keys + 1, p.pooled, most) - blocks_before(past + 1, p.pooled, most);
}
}  // namespace

namespace {
/// Twice the number of pairs if each of n tokens sees `side` tokens on each side. The first and the last tokens see
/// fewer.
Count twice_pairs_of_both_sides(Count n, Count side) {
  const Count most = std::min(side, n - 1);
  return mul(2, mul(n, add(mul(2, most), 1)) - mul(most, most + 1));
}
}  // namespace

Count twice_pairs(Count queries, Count past, const Pairs& p) {
  if (p.both_ways)
    return p.reach.limited() ? twice_pairs_of_both_sides(queries, p.reach.side()) : mul(2, queries, add(past, queries));
  if (p.pooled == 0 && p.selection.chooses()) return twice_chosen_pairs(queries, past, p.selection, p.convention);
  const Count near = p.pooled_alone ? 0 : twice_pairs(queries, past, p.reach, p.convention);
  return p.pooled == 0 ? near : add(near, mul(2, pooled_pairs(queries, past, p)));
}

}  // namespace llmcalc
