#include "calc/textbook/sizes.hpp"

namespace llmcalc::textbook {

LayerCounts layer_counts(const Arch& a) {
  LayerCounts n;
  for (Count i = 0; i < a.layers; ++i) {
    Count& softmax = a.local.layers.contains(i) ? n.local : n.full;
    ++(a.linear_layers.contains(i) ? n.linear : softmax);
    ++(a.has_experts() && a.moe.layers.contains(i) ? n.experts : n.dense);
  }
  return n;
}

}  // namespace llmcalc::textbook
