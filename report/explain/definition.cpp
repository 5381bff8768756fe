#include "report/explain/definition.hpp"

namespace llmcalc::explain {

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> all = [] {
    std::vector<Definition> v;
    for (const auto part : {parameter_definitions(), flops_definitions(), formula_definitions(),
                            training_memory_definitions(), activation_definitions(), step_definitions(),
                            run_definitions(), inference_memory_definitions(), pass_definitions(), limit_definitions()})
      v.insert(v.end(), part.begin(), part.end());
    return v;
  }();
  return all;
}

}  // namespace llmcalc::explain
