#include "serve/block_cache.hpp"

#include <algorithm>

namespace llmcalc {

void BlockCache::take(Count n) {
  const Count from_free = std::min(n, free_);
  free_ -= from_free;
  for (n -= from_free; n > 0;) {
    const Chain c = oldest_;
    const Count some = std::min(n, chains_[c].cached);
    chains_[c].cached -= some;
    idle_ -= some;
    n -= some;
    if (chains_[c].cached > 0) continue;
    remove(c);
    forget(c);
  }
}

BlockCache::Chain BlockCache::make_chain() {
  if (unused_.empty()) {
    chains_.emplace_back();
    return static_cast<Chain>(chains_.size() - 1);
  }
  const Chain c = unused_.back();
  unused_.pop_back();
  chains_[c] = {};
  return c;
}

BlockCache::Chain BlockCache::chain(ChainId n) {
  if (n >= numbered_.size()) numbered_.resize(n + 1, none);
  if (numbered_[n] == none) numbered_[n] = make_chain();
  return numbered_[n];
}

void BlockCache::use(Chain c, Count n) {
  Blocks& b = chains_[c];
  if (b.users++ > 0) return;
  if (b.cached > 0) {
    remove(c);
    idle_ -= b.cached;
  }
  free_ += b.cached - std::min(b.cached, n);
  b.cached = std::min(b.cached, n);
}

void BlockCache::release(Chain c) {
  Blocks& b = chains_[c];
  if (--b.users > 0) return;
  if (b.cached == 0) return forget(c);
  push(c);
  idle_ += b.cached;
}

void BlockCache::push(Chain c) {
  chains_[c].older = newest_;
  chains_[c].newer = none;
  (newest_ == none ? oldest_ : chains_[newest_].newer) = c;
  newest_ = c;
}

void BlockCache::remove(Chain c) {
  const Blocks& b = chains_[c];
  (b.older == none ? oldest_ : chains_[b.older].newer) = b.newer;
  (b.newer == none ? newest_ : chains_[b.newer].older) = b.older;
}

void BlockCache::abandon(Chain c) {
  chains_[c].abandoned = true;
  forget(c);
}

void BlockCache::forget(Chain c) {
  const Blocks& b = chains_[c];
  if (b.abandoned && b.users == 0 && b.cached == 0) unused_.push_back(c);
}

}  // namespace llmcalc
