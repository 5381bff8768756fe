#include "report/explain/definition.hpp"

#include <initializer_list>

namespace llmcalc::explain {
namespace {

bool is_one_of(std::string_view section, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), section) != names.end();
}

}  // namespace

Subject Definition::about() const {
  if (is_one_of(section(), {"flops", "memory", "layout", "stages", "activations", "step", "run", "estimate",
                            "sensitivity", "utilization", "step_target"}))
    return Subject::training;
  const bool inference = is_one_of(
      section(), {"inference_memory", "kv_cache", "prefill", "decode", "decode_sensitivity", "drafts", "end_to_end",
                  "limits", "inference_estimate", "target", "serving", "engine_memory", "steady_state"});
  return inference ? Subject::inference : Subject::model;
}

bool Definition::hardware() const {
  return is_one_of(section(), {"step", "run", "estimate", "sensitivity", "utilization", "step_target", "prefill",
                               "decode", "decode_sensitivity", "drafts", "end_to_end", "limits", "inference_estimate",
                               "target", "serving", "engine_memory", "steady_state"}) ||
         path.starts_with("memory.process.") || path.ends_with("memory.fits") ||
         path.ends_with("memory.capacity_bytes");
}

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> all = [] {
    std::vector<Definition> v;
    for (const auto part : {parameter_definitions(),   flops_definitions(),
                            formula_definitions(),     training_memory_definitions(),
                            process_definitions(),     pipeline_definitions(),
                            activation_definitions(),  step_definitions(),
                            sensitivity_definitions(), utilization_definitions(),
                            run_definitions(),         inference_memory_definitions(),
                            pass_definitions(),        power_definitions(),
                            spent_definitions(),       limit_definitions(),
                            target_definitions(),      step_target_definitions(),
                            serving_definitions(),     served_definitions()})
      v.insert(v.end(), part.begin(), part.end());
    return v;
  }();
  return all;
}

Symbol as_symbol(const Setting& s, const char* name, const char* meaning, const std::string& path) {
  return {name, meaning, s.number(path)};
}

Formula from_engine(const Setting& s, const char* name, const char* meaning, const std::string& path) {
  return {name, {as_symbol(s, name, meaning, path)}};
}

}  // namespace llmcalc::explain
