#pragma once
/// Shared prefixes that extend one another. The tokens of a prefix are divided into parts: those of its parent, and its
/// own, from begin() on. A prefix that is not in the tree has no parent.

#include <vector>

#include "serve/request.hpp"

namespace llmcalc {

class PrefixTree {
 public:
  std::size_t size() const { return nodes_.size(); }
  /// Adds the prefix with the next number. `begin`: number of tokens of its parent, at least 1; 0 without a parent.
  void add(ChainId parent, Count begin) { nodes_.push_back({parent, begin}); }
  ChainId parent(ChainId prefix) const { return prefix < size() ? nodes_[prefix].parent : no_chain; }
  /// Number of tokens before the prefix's own part.
  Count begin(ChainId prefix) const { return prefix < size() ? nodes_[prefix].begin : 0; }
  /// `n` copies of the tree, which share no tokens: prefix p of copy i, from 0, has the number p + i size().
  PrefixTree copies(Count n) const;

 private:
  struct Node {
    ChainId parent;
    Count begin;
  };
  std::vector<Node> nodes_;
};

}  // namespace llmcalc
