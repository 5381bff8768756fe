#include "presets/estimators/engine_limits.hpp"

namespace llmcalc {

EngineLimits default_limits(const EngineHost& host, const std::optional<EngineLaw>& law, Count longest) {
  EngineLimits l = usual_limits(host, longest);
  if (!law) return l;
  const EngineLaw::BySize* size = size_class(*law, host.card.cluster.device.memory);
  l.pass_tokens = law->pass_tokens.value_or(size != nullptr ? size->pass_tokens : l.pass_tokens);
  l.sequences = law->sequences.value_or(l.sequences);
  l.block_tokens = law->block_tokens.value_or(l.block_tokens);
  return l;
}

}  // namespace llmcalc
