#include "calc/textbook/sizes.hpp"

namespace llmcalc::textbook {

LayerCounts layer_counts(const Arch& a) {
  LayerCounts n;
  for (Count i = 0; i < a.layers; ++i) {
    const bool linear = a.linear_layers.contains(i), local = !linear && a.local.layers.contains(i);
    ++(linear ? n.linear : local ? n.local : n.full);
    ++(a.has_experts() && a.moe.layers.contains(i) ? n.experts : n.dense);
  }
  return n;
}

}  // namespace llmcalc::textbook
