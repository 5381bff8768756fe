#include "report/html/explained.hpp"

#include <fmt/format.h>

#include "report/ask.hpp"
#include "report/commands/command.hpp"
#include "report/explain/explanation.hpp"
#include "report/plot/report_numbers.hpp"

namespace llmcalc {
namespace {

/// The inputs that 'explain' has, too.
json::Value explainable(const json::Value& inputs) {
  json::Value kept = json::Value::object();
  for (const Option* o : options_of(explain_command))
    if (const auto found = inputs.find(o->key()); found != inputs.end()) kept[o->key()] = *found;
  return kept;
}

}  // namespace

Explanations explanations_of(const json::Value& report) {
  Explanations all;
  if (plot::value_at(report, "model.name") == nullptr || plot::value_at(report, "inputs") == nullptr) return all;
  json::Value request{{"command", "explain"}, {"inputs", explainable(report["inputs"])}};
  for (const char* key : {"model", "hardware"})
    if (const json::Value* name = plot::value_at(report, fmt::format("{}.name", key))) request[key] = *name;
  for (const auto& [section, value] : report.items()) {
    if (!value.is_object() || !explain::is_quantity(section)) continue;
    request["inputs"]["quantity"] = section;
    const json::Value answer = ask(request);
    if (const json::Value* quantities = plot::value_at(answer, "quantities"))
      for (const json::Value& q : *quantities) all.emplace(plot::text_at(q, "path"), q);
  }
  return all;
}

}  // namespace llmcalc
