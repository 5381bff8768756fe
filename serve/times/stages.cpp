#include "serve/times/stages.hpp"

namespace llmcalc {

ModelChunk served_stage(Count layers, Count stages, Count i) {
  const Count each = layers / stages, more = layers % stages;
  const Count plain = std::max<Count>(0, stages - 1 - more);  // stages without an extra layer, except the last
  const auto first = [&](Count stage) { return stage * each + std::clamp<Count>(stage - plain, 0, more); };
  return {first(i), first(i + 1), i == 0, i + 1 == stages};
}

}  // namespace llmcalc
