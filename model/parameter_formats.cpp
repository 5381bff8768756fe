// The format in which each parameter is stored, from the operator that reads it.

#include <map>

#include "calc/price.hpp"
#include "calc/program.hpp"
#include "calc/stored.hpp"
#include "model/halves.hpp"
#include "model/weights.hpp"
#include "text/error.hpp"

namespace llmcalc::model {
namespace {

/// The formats of all operators, by the first layer of their kind (-1: of none) and their name.
using Operators = std::map<std::pair<Count, std::string>, Stored, std::less<>>;

Operators operators(const Arch& arch, Plan plan) {
  plan.mla = Mla::expanded;  // absorbed projections are the same weights
  Operators all;
  for_each_operator(arch, plan, {}, prefill_step(plan, 1), [&](const OperatorRow& row) {
    const Count first = row.segment.kind == SegmentKind::block ? row.segment.layer.first : -1;
    all.emplace(std::pair(first, std::string(row.op.name)), stored(row.op, pricing(plan, Phase::prefill)));
  });
  return all;
}

/// A parameter's name: its layer (-1: none), its operator and what it is there ("weight").
struct Name {
  Count layer = -1;
  std::string op, what;
  explicit Name(const std::string& all) {
    constexpr std::string_view layers = "layers.";
    std::string_view rest = all;
    if (rest.starts_with(layers)) {
      const std::size_t end = rest.find('.', layers.size());
      layer = std::stoll(std::string(rest.substr(layers.size(), end - layers.size())));
      rest.remove_prefix(end + 1);
    }
    op = rest.substr(0, rest.rfind('.'));
    what = rest.substr(rest.rfind('.') + 1);
  }
};

}  // namespace

ParameterFormats parameter_formats(const Arch& arch, const Plan& plan) {
  return [all = operators(arch, plan), kinds = layer_kinds(arch), halves = halves(arch),
          compute = working_format(plan)](const ParameterShape& p) -> std::optional<DType> {
    const Name name(p.name);
    const Count first = name.layer < 0 ? -1 : kinds.kinds[kind_index(kinds, name.layer / halves)].first;
    const Stored& s = all.at({first, name.op});
    const DType format = p.in > 0 && name.what == "weight" ? s.matrix : s.vector;
    if (format == compute) return std::nullopt;
    if (!can_code(format))
      throw InputError("the reference transformer has no codes of " + std::string(format.name()) +
                       ", in which the plan stores " + p.name + "; choose another --weight-precision");
    return format;
  };
}

}  // namespace llmcalc::model
