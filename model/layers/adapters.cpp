#include "model/layers/adapters.hpp"

#include "calc/training/adapter.hpp"
#include "model/parameter_operators.hpp"
#include "model/pass/pass.hpp"

namespace llmcalc::model {
namespace {

/// Operators of a parameter's adapter, if the parameter is an adapted matrix.
std::optional<AdapterNames> names_of(const ParameterShape& p, const Adapters& adapters) {
  const ParameterName name(p.name);
  if (adapters.rank == 0 || name.what != "weight") return std::nullopt;
  return adapter_names(adapters.targets, name.op);
}

}  // namespace

std::vector<ParameterShape> with_adapters(const std::vector<ParameterShape>& all, const Adapters& adapters) {
  std::vector<ParameterShape> more;
  for (const ParameterShape& p : all) {
    more.push_back(p);
    const auto names = names_of(p, adapters);
    if (!names) continue;
    const std::string layer = p.name.substr(0, p.name.size() - names->base.size() - std::string_view(".weight").size());
    const auto named = [&](std::string_view op) { return layer + std::string(op) + ".weight"; };
    more.push_back({named(names->down), p.groups, adapters.rank, p.in, Start::normal});
    more.push_back({named(names->up), p.groups, p.out, adapters.rank, Start::zero});
  }
  return more;
}

/// A matmul, plus the adapter's two matmuls if the matrix has an adapter.
Value Pass::adapted(std::string_view op, Value x, const Product& how) {
  const auto names = plan().lora_rank > 0 ? adapter_names(plan().lora_targets, op) : std::nullopt;
  if (!names || !weights_.has(layer_, names->down)) return product(op, std::move(x), how);
  Value y = product(op, x, how);
  Value low = product(names->down, std::move(x), how);
  Value wide = product(names->up, std::move(low), how);
  return add(names->sum, std::move(y), std::move(wide));
}

}  // namespace llmcalc::model
