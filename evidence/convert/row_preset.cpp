#include "evidence/convert/row_preset.hpp"

#include "evidence/logs/served_model.hpp"
#include "presets/load.hpp"

namespace llmcalc {

std::optional<Arch> preset_arch(const std::string& name, Count layers, Count hidden, Count heads) {
  const Builtin* preset = name.empty() ? nullptr : served_preset(name);
  if (preset == nullptr) return std::nullopt;
  const Arch arch = load_model(*preset).arch;
  const bool same = arch.layers == layers && arch.hidden == hidden && arch.heads == heads;
  return same ? std::optional(arch) : std::nullopt;
}

bool has_layers_of_kinds(const Arch& a) {
  return !a.local.layers.empty() || !a.linear_layers.empty() || a.mixers.size() > 0 || a.streams > 1 ||
         a.residual_block > 0 || a.per_layer.width > 0;
}

}  // namespace llmcalc
