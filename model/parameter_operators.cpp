#include "model/parameter_operators.hpp"

#include "calc/block/program.hpp"
#include "calc/formats/stored.hpp"
#include "calc/price.hpp"
#include "model/storage/halves.hpp"
#include "text/error.hpp"
#include "text/leading_number.hpp"

namespace llmcalc::model {

ParameterName::ParameterName(const std::string& whole) {
  constexpr std::string_view layers = "layers.";
  std::string_view rest = whole;
  if (rest.starts_with(layers)) {
    const std::size_t end = rest.find('.', layers.size());
    layer = leading_whole(std::string(rest.substr(layers.size(), end - layers.size())));
    rest.remove_prefix(end + 1);
  }
  op = rest.substr(0, rest.rfind('.'));
  what = rest.substr(rest.rfind('.') + 1);
}

ParameterOperators::ParameterOperators(const Arch& arch, const Plan& plan, Step step)
    : kinds_(layer_kinds(arch, step.frozen, step.low_precision)), halves_(halves(arch)), layers_(arch.layers) {
  step.absorbed = false;  // absorbed projections use the same weights
  for_each_operator(arch, plan, {}, step, [&](const OperatorRow& row) {
    const Segment& s = row.segment;
    const Count first = s.mtp ? of_module : s.kind == SegmentKind::block ? s.layer.first : of_none;
    all_.emplace(std::pair(first, std::string(row.op.name)), row.op);
  });
}

const Op& ParameterOperators::of(const ParameterShape& p) const {
  const ParameterName name(p.name);
  if (name.layer < 0) return all_.at({of_none, name.op});
  const Count layer = name.layer / halves_;
  return all_.at({layer < layers_ ? kinds_[kind_index(kinds_, layer)].first : of_module, name.op});
}

bool ParameterOperators::is_matrix(const ParameterShape& p) const {
  if (p.in == 0 || ParameterName(p.name).what != "weight") return false;
  const Shape& reader = of(p).shape;
  return std::holds_alternative<Linear>(reader) || std::holds_alternative<Lookup>(reader);
}

ParameterFormats parameter_formats(const Arch& arch, const Plan& plan) {
  const bool adapts = trains_adapters(plan);
  const Step step = adapts ? training_step(plan) : prefill_step(plan, 1);
  return [operators = ParameterOperators(arch, plan, step), compute = working_format(plan), adapts,
          p = pricing(plan, adapts ? Phase::training : Phase::prefill)](
             const ParameterShape& shape) -> std::optional<DType> {
    const Stored s = stored(operators.of(shape), p);
    const DType format = operators.is_matrix(shape) ? s.matrix : s.vector;
    if (format == compute) return std::nullopt;
    if (!can_code(format))
      throw InputError("the reference transformer cannot quantize to " + std::string(format.name()) +
                       ", the plan's format for " + shape.name + "; choose another " +
                       (adapts ? "--base-precision" : "--weight-precision"));
    return format;
  };
}

}  // namespace llmcalc::model
