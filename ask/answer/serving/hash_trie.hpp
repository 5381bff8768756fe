#pragma once
/// Shared prefixes of prompts from hash ids: an id stands for a block of 512 tokens, and equal ids for equal prompts up
/// to the end of the block. A last block of fewer tokens is shared only with prompts of equal length.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "serve/request_list.hpp"

namespace llmcalc {

/// Tokens per hash id.
inline constexpr Count hash_block_tokens = 512;

class HashTrie {
 public:
  /// Adds a prompt. `ids`: one per block, or none if its blocks are unknown. Precondition: `prompt` above 0.
  void add(std::span<const std::uint64_t> ids, Count prompt);
  bool empty() const { return nodes_.empty(); }
  /// Sets the prefixes of requests, one per added prompt and in the same order. Blocks of the same two or more
  /// prompts form a prefix; blocks of a single prompt stay private.
  void set_prefixes(RequestList& requests) const;

 private:
  using NodeId = std::uint32_t;
  static constexpr NodeId none = ~NodeId{0};
  struct Key {
    NodeId parent;
    std::uint64_t id;
    Count end;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const;
  };
  /// A block that begins with the parent's.
  struct Node {
    NodeId parent;
    std::uint32_t prompts;  ///< number of prompts with this block
    Count end;              ///< tokens up to its end
  };
  NodeId child(NodeId parent, std::uint64_t id, Count end);
  bool shared(NodeId n) const { return n != none && nodes_[n].prompts > 1; }
  Count end(NodeId n) const { return n == none ? 0 : nodes_[n].end; }
  std::vector<ChainId> add_prefixes(PrefixTree& tree) const;

  std::vector<Node> nodes_;  ///< parents before children
  std::unordered_map<Key, NodeId, Hash> numbers_;
  std::vector<NodeId> last_;  ///< last block of each prompt
};

}  // namespace llmcalc
