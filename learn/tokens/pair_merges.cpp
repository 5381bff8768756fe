#include "learn/tokens/pair_merges.hpp"

#include <functional>
#include <queue>
#include <tuple>

namespace llmcalc::model {
namespace {

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
}

constexpr std::size_t nothing = static_cast<std::size_t>(-1);

/// A token of a word, linked to its neighbors; `gone` after it is merged into the previous one.
struct MergeSymbol {
  std::int32_t token = 0;
  std::size_t before = nothing, after = nothing;
  bool gone = false;
};

/// A candidate merge of symbol `left` and its successor, which held the tokens `first` and `second` when it was
/// queued.
struct WaitingMerge {
  std::size_t rank, left;
  std::int32_t first, second, merged;
  bool operator>(const WaitingMerge& o) const { return std::tie(rank, left) > std::tie(o.rank, o.left); }
};

std::vector<MergeSymbol> symbols_of(const std::vector<std::int32_t>& word) {
  std::vector<MergeSymbol> all(word.size());
  for (std::size_t i = 0; i < word.size(); ++i)
    all[i] = {word[i], i > 0 ? i - 1 : nothing, i + 1 < word.size() ? i + 1 : nothing};
  return all;
}

}  // namespace

void PairMerges::add(std::int32_t left, std::int32_t right, std::int32_t merged) {
  const std::size_t rank = merges_.size();
  merges_.emplace(pair_key(left, right), Merge{rank, merged});
}

const PairMerges::Merge* PairMerges::find(std::int32_t left, std::int32_t right) const {
  const auto at = merges_.find(pair_key(left, right));
  return at == merges_.end() ? nullptr : &at->second;
}

std::vector<std::int32_t> PairMerges::merged(const std::vector<std::int32_t>& word) const {
  std::vector<MergeSymbol> all = symbols_of(word);
  std::priority_queue<WaitingMerge, std::vector<WaitingMerge>, std::greater<>> waiting;
  const auto consider = [&](std::size_t left) {
    if (left == nothing || all[left].after == nothing) return;
    const std::int32_t a = all[left].token, b = all[all[left].after].token;
    if (const Merge* m = find(a, b)) waiting.push({m->rank, left, a, b, m->merged});
  };
  for (std::size_t i = 0; i < all.size(); ++i) consider(i);
  while (!waiting.empty()) {
    const WaitingMerge c = waiting.top();
    waiting.pop();
    MergeSymbol& left = all[c.left];
    if (left.gone || left.token != c.first || left.after == nothing || all[left.after].token != c.second) continue;
    MergeSymbol& right = all[left.after];
    left.token = c.merged;
    left.after = right.after;
    right.gone = true;
    if (left.after != nothing) all[left.after].before = c.left;
    consider(left.before);
    consider(c.left);
  }
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < all.size(); i = all[i].after) {
    tokens.push_back(all[i].token);
    if (all[i].after == nothing) break;
  }
  return tokens;
}

}  // namespace llmcalc::model
