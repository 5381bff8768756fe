#include "calc/textbook/states.hpp"

namespace llmcalc::textbook {

std::optional<StatePreset> state_preset(std::string_view name) {
  for (const StatePreset& p : state_presets)
    if (p.name == name) return p;
  return std::nullopt;
}

Bytes state_bytes(const StatePreset& p, Count params) { return (Exact(p.total()) * params).bytes(); }

Fraction zero_bytes(const StatePreset& p, Count params, Count data_parallel, int stage) {
  const Count sharded = (stage >= 1 ? p.optimizer : 0) + (stage >= 2 ? p.gradients : 0) + (stage >= 3 ? p.weights : 0);
  const Exact whole = Exact(p.total() - sharded) * params;
  return Fraction(whole, 1) + Fraction(Exact(sharded) * params, data_parallel);
}

Bytes gathered_bytes(Count unit_params, Count weight_bytes, Count units, Count gradient_bytes) {
  return (Exact(unit_params) * (Exact(units) * weight_bytes + gradient_bytes)).bytes();
}

Bytes adam8bit_bytes(Count params, Count block) { return (Exact(2) * params + Exact(8) * ceil(params, block)).bytes(); }

Bytes integer_group_bytes(Count rows, Count cols, Count bits, Count group, Count scale_bytes, Count zero_bits) {
  const Exact groups = Exact(rows) * ceil(cols, group);
  return ceil(Exact(rows) * cols * bits + groups * (8 * scale_bytes + zero_bits), 8).bytes();
}

Bytes nf4_bytes(Count weights, Count block, bool double_quantized, Count outer) {
  const Exact data = ceil(weights, 2), scales = ceil(weights, block);
  return (data + (double_quantized ? scales + Exact(4) * ceil(scales, outer) : Exact(4) * scales)).bytes();
}

}  // namespace llmcalc::textbook
