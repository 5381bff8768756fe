#pragma once
/// Activations of an engine: the peak of its largest pass (serve/engine_memory.hpp).

#include "report/explain/formula.hpp"
#include "report/explain/setting.hpp"
#include "serve/engine_memory.hpp"

namespace llmcalc::explain {

inline Formula profiled_pass_formula(const ProfiledPass& p) {
  return {"max(M_s + M_h, M_l + 3*M_h)",
          {{"M_s", "bytes of all logits in the sampler", number_text(p.sampler.value)},
           {"M_h", "hidden states of the largest pass, bytes", number_text(p.hidden.value)},
           {"M_l", "peak of one of its layers, bytes", number_text(p.layer.value)}}};
}

}  // namespace llmcalc::explain
