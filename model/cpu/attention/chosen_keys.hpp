#pragma once
/// The keys that a query reads.

#include <algorithm>
#include <limits>
#include <vector>

#include "calc/arch/mixer.hpp"
#include "model/cpu/parallel.hpp"
#include "model/layers/indexer.hpp"
#include "model/math/numbers.hpp"

namespace llmcalc::model::LLMCALC_ISA {

/// `n` keys in order: at most `near` keys starting at `first`, then keys starting at `far`; or the keys of a list.
struct Keys {
  Count first = 0, n = 0;
  Count near = std::numeric_limits<Count>::max(), far = 0;
  const Count* list = nullptr;
  Count operator[](Count i) const {
    if (list != nullptr) return list[i];
    return i < near ? first + i : far + i - near;
  }
  /// Length of the run of consecutive keys that starts at index i.
  Count run(Count i) const {
    if (list == nullptr) return (i < near ? std::min(near, n) : n) - i;
    Count more = 1;
    while (i + more < n && list[i + more] == list[i] + more) ++more;
    return more;
  }
};

/// The tokens up to t that token t selects; for blocks, all tokens of each selected block and of t's own block.
inline Keys chosen_keys(const Selection& s, const ChosenIndex* chosen, Count each, Count t, std::vector<Count>& room) {
  room.clear();
  const Count size = s.block > 0 ? s.block : 1;
  for (Count i = 0; i < each && chosen[i] >= 0; ++i)
    for (Count j = 0; j < size; ++j) room.push_back(chosen[i] * size + j);
  if (s.block > 0)
    for (Count j = t - t % size; j <= t; ++j) room.push_back(j);
  return {.n = static_cast<Count>(room.size()), .list = room.data()};
}

/// The tokens [first, last), followed by the selected pooled keys, which are numbered starting at `far`.
inline Keys near_and_chosen(Count first, Count last, const ChosenIndex* chosen, Count each, Count far,
                            std::vector<Count>& room) {
  room.clear();
  for (Count j = first; j < last; ++j) room.push_back(j);
  for (Count i = 0; i < each && chosen[i] >= 0; ++i) room.push_back(far + chosen[i]);
  return {.n = static_cast<Count>(room.size()), .list = room.data()};
}

}  // namespace llmcalc::model::LLMCALC_ISA
