#include "report/explain/operators.hpp"

#include <algorithm>
#include <array>

#include "calc/price.hpp"
#include "report/explain/operator_formula.hpp"
#include "report/explain/pass_time.hpp"
#include "text/format.hpp"

namespace llmcalc::explain {
namespace {

using Counts = OperatorFormula::Counts;

struct Kind {
  const char *title, *unit, *convention, *source;
  Unit quantity;
};
constexpr const char* operands = "each operand once, with its scales; for experts, one matrix; excludes casts";
constexpr const char* formats_source = "OCP MX v1.0; DeepSeek-V3 (arXiv:2412.19437) 3.3.2; NVFP4 (arXiv:2509.25149)";
/// Kinds of explanation, by phase and by counted quantity.
constexpr Kind kinds[3][4] = {
    {{"forward model FLOPs, one layer, training micro-batch", "FLOP", "backward takes twice as many",
      "Narayanan 2021 (arXiv:2104.04473)", Unit::flops},
     {"activation bytes moved in forward, one layer, training micro-batch", "bytes",
      "each element read or written once", "Goon App. D", Unit::bytes},
     {"message size, one layer, training micro-batch", "bytes", "for the whole group", "Megatron (arXiv:1909.08053)",
      Unit::bytes},
     {"operand bytes in forward, one layer, training micro-batch", "bytes", operands, formats_source, Unit::bytes}},
    {{"model FLOPs, one layer, prefill", "FLOP", "2 per multiply-add", "Narayanan 2021 (arXiv:2104.04473)",
      Unit::flops},
     {"activation bytes moved, one layer, prefill", "bytes", "each element read or written once", "Goon App. D",
      Unit::bytes},
     {"message size, one layer, prefill", "bytes", "for the whole group", "Megatron (arXiv:1909.08053)", Unit::bytes},
     {"operand bytes, one layer, prefill", "bytes", operands, formats_source, Unit::bytes}},
    {{"model FLOPs, one layer, decode step", "FLOP", "halfway through the generation",
      "Narayanan 2021 (arXiv:2104.04473)", Unit::flops},
     {"activation bytes moved, one layer, decode step", "bytes", "halfway through the generation", "Goon App. D",
      Unit::bytes},
     {"message size, one layer, decode step", "bytes", "halfway through the generation", "Megatron (arXiv:1909.08053)",
      Unit::bytes},
     {"operand bytes, one layer, decode step", "bytes", operands, formats_source, Unit::bytes}}};

class Collector {
 public:
  Collector(const Setting& s, std::string_view name) : s_(s), name_(name) {}

  void run(const TimedPass& pass) {
    const Pricing p = pricing(s_.plan(), pass.phase, s_.layout());
    for_each_operator(s_.arch(), s_.plan(), s_.layout(), pass.step, [&](const OperatorRow& row) {
      if (row.op.name == name_) add(row.op, p);
    });
  }
  OperatorExplanations found;

 private:
  void add(const Op& op, const Pricing& p) {
    add(op, p, operator_formula(op, p));
    if (std::optional<OperatorFormula> read = operand_formula(op, p)) add(op, p, std::move(*read));
  }
  void add(const Op& op, const Pricing& p, OperatorFormula f) {
    const Kind& k = kinds[static_cast<std::size_t>(p.phase)][static_cast<std::size_t>(f.counts)];
    Explanation e{nullptr, std::move(f.formula), {}, {}, {"value", "", f.value, k.quantity, ""}};
    for (const std::string& letter : identifiers(e.formula.expression))
      for (const Symbol& s : e.formula.own)
        if (s.name == letter) e.symbols.push_back(s);
    e.numbers = substituted(e.formula, e.symbols);
    for (const Explanation& other : found.all)
      if (other.definition->title == k.title && joined(other.numbers) == joined(e.numbers)) return;
    found.heads.push_back(
        {.path = op.name, .title = k.title, .unit = k.unit, .convention = k.convention, .source = k.source});
    e.definition = &found.heads.back();
    found.all.push_back(std::move(e));
  }

  const Setting& s_;
  std::string_view name_;
};

}  // namespace

bool is_operator(const Arch& arch, std::string_view name) {
  bool found = false;
  const Count modules = std::min<Count>(arch.mtp.modules, 1);
  const Step training{.queries = 2, .training = true, .dropout = true, .mtp = modules};
  for (const Step& step : {training, Step{.queries = 1, .past = 1}, Step{.queries = 1, .past = 1, .absorbed = true}})
    for_each_operator(arch, {}, {}, step, [&](const OperatorRow& row) { found = found || row.op.name == name; });
  return found;
}

OperatorExplanations operator_explanations(const Setting& s, std::string_view name) {
  Collector c(s, name);
  const Plan& plan = s.plan();
  if (s.parts().training) c.run(training_pass(plan));
  if (s.parts().inference) {
    c.run(prefill_pass(plan));
    c.run(decode_pass(plan, plan.prompt + plan.generate / 2));
  }
  return std::move(c.found);
}

}  // namespace llmcalc::explain
