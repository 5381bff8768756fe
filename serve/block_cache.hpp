#pragma once
/// The blocks of an engine's KV cache: in use, free, or cached but unused. Cached unused blocks are evicted when space
/// is needed, least recently used first.
///
/// Blocks whose tokens can be reused form chains: the blocks of a shared prefix, a session or a request, in token
/// order. An unused chain loses its last blocks first, because vLLM frees a request's blocks in reverse order.

#include <vector>

#include "serve/request.hpp"

namespace llmcalc {

class BlockCache {
 public:
  using Chain = std::uint32_t;
  static constexpr Chain none = ~Chain{0};

  explicit BlockCache(Count blocks) : blocks_(blocks), free_(blocks) {}

  Count all() const { return blocks_; }
  /// Number of blocks that can be allocated.
  Count available() const { return free_ + idle_; }
  Count used() const { return blocks_ - available(); }

  /// Allocates `n` blocks, at most available(): free blocks first, then blocks of the least recently used chains.
  void take(Count n);
  /// Frees blocks that are not in a chain.
  void give(Count n) { free_ += n; }

  /// Creates a chain without blocks. After abandon(), the chain is deleted as soon as it is unused and empty.
  Chain make_chain();
  void abandon(Chain c);
  /// The chain with the caller's number `n`, starting from 0. Numbered chains are never deleted.
  Chain chain(ChainId n);
  Count cached(Chain c) const { return chains_[c].cached; }
  /// Number of the chain's blocks that can be allocated because the chain is unused.
  Count idle(Chain c) const { return chains_[c].users == 0 ? chains_[c].cached : 0; }
  /// Starts to use a chain's first `n` blocks. Frees the remaining blocks of the chain if it has no other user.
  void use(Chain c, Count n);
  /// Adds blocks that the caller allocated to the chain.
  void extend(Chain c, Count n) { chains_[c].cached += n; }
  void release(Chain c);

 private:
  struct Blocks {
    Count cached = 0;
    Count users = 0;
    Chain older = none, newer = none;  ///< neighbors in the list of unused chains
    bool abandoned = false;
  };
  void push(Chain c);
  void remove(Chain c);
  void forget(Chain c);

  Count blocks_, free_, idle_ = 0;
  std::vector<Blocks> chains_;
  std::vector<Chain> numbered_, unused_;
  Chain oldest_ = none, newest_ = none;
};

}  // namespace llmcalc
