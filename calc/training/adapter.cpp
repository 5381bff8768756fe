#include "calc/training/adapter.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace llmcalc {
namespace {

using Target = LoraTarget;

struct Adapted {
  std::string_view base;
  Target target;
};

constexpr std::array adapted{Adapted{"attn.q", Target::q},
                             Adapted{"attn.q_down", Target::q},
                             Adapted{"attn.q_up", Target::q},
                             Adapted{"attn.k", Target::k},
                             Adapted{"attn.kv_down", Target::k},
                             Adapted{"attn.kv_up", Target::k},
                             Adapted{"attn.v", Target::v},
                             Adapted{"attn.out", Target::out},
                             Adapted{"attn.gate", Target::gate},
                             Adapted{"mlp.gate", Target::gate},
                             Adapted{"mlp.expert_gate", Target::gate},
                             Adapted{"mlp.shared_gate", Target::gate},
                             Adapted{"mlp.up", Target::up},
                             Adapted{"mlp.expert_up", Target::up},
                             Adapted{"mlp.shared_up", Target::up},
                             Adapted{"mlp.down", Target::down},
                             Adapted{"mlp.expert_down", Target::down},
                             Adapted{"mlp.shared_down", Target::down}};

/// Names of one weight's adapter operators. Stored statically, because operators hold views of them.
struct WeightAdapter {
  std::string down, up, add;
};

const std::array<WeightAdapter, adapted.size()>& names() {
  static const auto all = [] {
    std::array<WeightAdapter, adapted.size()> made;
    std::transform(adapted.begin(), adapted.end(), made.begin(), [](const Adapted& a) {
      const std::string base{a.base};
      return WeightAdapter{base + "_lora_down", base + "_lora_up", base + "_lora_add"};
    });
    return made;
  }();
  return all;
}

}  // namespace

std::optional<AdapterNames> adapter_names(LoraTargets targets, std::string_view base) {
  const auto* const found =
      std::find_if(adapted.begin(), adapted.end(), [&](const Adapted& a) { return a.base == base; });
  if (found == adapted.end() || !targets.has(found->target)) return std::nullopt;
  const WeightAdapter& own = names()[static_cast<std::size_t>(found - adapted.begin())];
  return AdapterNames{found->base, own.down, own.up, own.add, found->target};
}

}  // namespace llmcalc
