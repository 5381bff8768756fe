#include "serve/prefix_tree.hpp"

namespace llmcalc {

PrefixTree PrefixTree::copies(Count n) const {
  PrefixTree all;
  all.nodes_.reserve(static_cast<std::size_t>(n) * size());
  for (Count i = 0; i < n; ++i) {
    const auto first = static_cast<ChainId>(all.size());
    for (const Node& node : nodes_) all.add(node.parent == no_chain ? no_chain : node.parent + first, node.begin);
  }
  return all;
}

}  // namespace llmcalc
