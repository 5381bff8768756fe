// Prefixes that extend one another.

#include "serve/prefix_tree.hpp"

#include "tests/catch.hpp"

using namespace llmcalc;

TEST_CASE("a prefix outside of the tree extends no other", "[serve][prefix]") {
  PrefixTree tree;
  tree.add(no_chain, 0);
  tree.add(0, 512);
  CHECK((tree.parent(1) == 0 && tree.begin(1) == 512));
  for (const ChainId root : {0, 2}) CHECK((tree.parent(root) == no_chain && tree.begin(root) == 0));
}

TEST_CASE("copies of a tree share no prefix", "[serve][prefix]") {
  PrefixTree tree;
  tree.add(no_chain, 0);
  tree.add(0, 512);
  const PrefixTree all = tree.copies(3);
  CHECK(all.size() == 6);
  CHECK((all.parent(4) == no_chain && all.parent(5) == 4 && all.begin(5) == 512));
  CHECK(PrefixTree().copies(3).size() == 0);
}
