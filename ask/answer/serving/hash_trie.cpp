#include "ask/answer/serving/hash_trie.hpp"

#include <algorithm>

namespace llmcalc {

std::size_t HashTrie::Hash::operator()(const Key& k) const {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
  std::uint64_t h = k.parent;
  for (const std::uint64_t n : {k.id, static_cast<std::uint64_t>(k.end)}) h = (h ^ (h >> 32) ^ n) * odd;
  return static_cast<std::size_t>(h ^ (h >> 32));
}

HashTrie::NodeId HashTrie::child(NodeId parent, std::uint64_t id, Count end) {
  const auto [at, added] = numbers_.try_emplace({parent, id, end}, static_cast<NodeId>(nodes_.size()));
  if (added) nodes_.push_back({parent, 0, end});
  return at->second;
}

void HashTrie::add(std::span<const std::uint64_t> ids, Count prompt) {
  NodeId n = none;
  Count end = 0;
  for (const std::uint64_t id : ids) {
    end = std::min(end + hash_block_tokens, prompt);
    n = child(n, id, end);
    ++nodes_[n].prompts;
  }
  last_.push_back(n);
}

/// Adds a prefix for each series of blocks of the same two or more prompts. Returns the prefix of each block.
std::vector<ChainId> HashTrie::add_prefixes(PrefixTree& tree) const {
  std::vector<ChainId> of(nodes_.size(), no_chain);
  for (NodeId n = 0; n < nodes_.size(); ++n) {
    const NodeId parent = nodes_[n].parent;
    if (!shared(n)) continue;
    const ChainId before = parent == none ? no_chain : of[parent];
    if (parent != none && nodes_[parent].prompts == nodes_[n].prompts) {
      of[n] = before;
      continue;
    }
    of[n] = static_cast<ChainId>(tree.size());
    tree.add(before, end(parent));
  }
  return of;
}

void HashTrie::set_prefixes(RequestList& requests) const {
  PrefixTree tree;
  const std::vector<ChainId> prefixes = add_prefixes(tree);
  for (std::size_t i = 0; i < last_.size(); ++i) {
    NodeId n = last_[i];
    while (n != none && !shared(n)) n = nodes_[n].parent;
    if (n == none) continue;
    ServerRequest r = requests[i];
    r.prefix = prefixes[n];
    r.prefix_tokens = end(n);
    requests.set(i, r);
  }
  requests.set_prefixes(std::move(tree));
}

}  // namespace llmcalc
