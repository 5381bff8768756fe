#include "ask/request/stack_defaults.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/request/inputs.hpp"
#include "ask/request/options/options.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// Whether the training defaults of the user's stack apply.
bool is_chosen_trainer(const Request& r) { return r.has(part::training) && r.software && r.gave("--software"); }

const Option& option_of_key(const std::string& key, const std::string& where) {
  const auto all = options();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Option& o) { return o.key() == key; });
  if (found == all.end() || found->field.read == nullptr)
    throw InputError(fmt::format("{}, \"defaults\": {} is not an input", where, in_quotes(key)));
  return *found;
}

/// Whether the stack may set an option. It may not if the user set the option, or if the option also affects the
/// inference half of the answer.
bool is_open(const Request& r, const Option& o) {
  const bool is_shared = r.has(part::of_inference) && (o.parts & part::of_inference) != 0;
  return !r.gave(o.flag) && !is_shared;
}

}  // namespace

void apply_stack_defaults(Request& r) {
  if (!is_chosen_trainer(r)) return;
  const std::string where = "software " + r.software->name;
  for (const auto& [key, value] : r.software->defaults) {
    const Option& o = option_of_key(key, where);
    if (!is_open(r, o)) continue;
    if (const auto text = input_text(o, value, where)) o.field.read(r, *text, where);
  }
}

void widen_frozen_weights(Request& r) {
  if (!is_chosen_trainer(r) || r.plan.lora_rank == 0) return;
  r.plan.base_precision = widened(r.plan.base_precision, *r.software);
}

std::string stack_defaults_text(const Request& r) {
  if (!is_chosen_trainer(r)) return "";
  std::string text;
  for (const auto& [key, value] : r.software->defaults) {
    const Option& o = option_of_key(key, r.software->name);
    if (!is_open(r, o)) continue;
    const std::string shown =
        value.is_boolean() ? "" : " " + (value.is_string() ? value.get<std::string>() : value.dump());
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", o.flag, shown);
  }
  return text.empty() ? "" : fmt::format("{} sets {}", r.software->named_version(), text);
}

}  // namespace llmcalc
