#pragma once
/// The blocks of an engine's cache: in use, free, and kept of what nobody uses, which goes when room is needed, the
/// longest unused first.
///
/// Blocks whose tokens are known belong to a chain, from the first block on: of a shared prefix, of a session, or of a
/// request. A chain that nobody uses loses its last blocks first, as vLLM frees a request's blocks in reverse order.

#include <vector>

#include "serve/request.hpp"

namespace llmcalc {

class BlockCache {
 public:
  using Chain = std::uint32_t;
  static constexpr Chain none = ~Chain{0};

  explicit BlockCache(Count blocks) : blocks_(blocks), free_(blocks) {}

  Count all() const { return blocks_; }
  /// Blocks that can be taken.
  Count available() const { return free_ + idle_; }
  Count used() const { return blocks_ - available(); }

  /// Takes blocks, at most those available: free ones, then those of chains that were unused longest.
  void take(Count n);
  /// Gives back blocks that belong to no chain.
  void give(Count n) { free_ += n; }

  /// A new chain without blocks. After abandon() it is forgotten as soon as nobody uses it and it is empty.
  Chain make_chain();
  void abandon(Chain c);
  /// A chain that is never forgotten: number `n` of those that the caller counts from 0.
  Chain chain(ChainId n);
  Count cached(Chain c) const { return chains_[c].cached; }
  /// Blocks of the chain that can be taken, because nobody uses it.
  Count idle(Chain c) const { return chains_[c].users == 0 ? chains_[c].cached : 0; }
  /// Begins to use a chain's first `n` blocks; where nobody else does, it loses those behind.
  void use(Chain c, Count n);
  /// Blocks that the caller took become the chain's.
  void extend(Chain c, Count n) { chains_[c].cached += n; }
  void release(Chain c);

 private:
  struct Blocks {
    Count cached = 0;
    Count users = 0;
    Chain older = none, newer = none;  ///< of those that nobody uses
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
