#include "ask/request/inputs.hpp"

#include <fmt/format.h>

#include "ask/request/options.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

bool takes(const Request& r, const Option& o) { return r.has(o.parts) && o.field.read != nullptr; }

const Option& input_called(const Request& r, const std::string& key, const std::string& where) {
  std::vector<std::string> known;
  for (const Option& o : options()) {
    if (!takes(r, o)) continue;
    if (o.key() == key) return o;
    known.push_back(o.key());
  }
  const std::vector<std::string> near = nearest(key, known, 1);
  throw InputError(fmt::format("{}: {} is no input here{}", where, in_quotes(key),
                               near.empty() ? "" : fmt::format(", did you mean {}?", in_quotes(near[0]))));
}

/// An option without a value: whether it is given.
bool flag_value(const Option& o, const json::Value& v, const std::string& where) {
  if (!v.is_boolean()) throw InputError(fmt::format("{}, {}: expected true or false", where, in_quotes(o.key())));
  return v.get<bool>() != o.flag.starts_with("--no-");
}

/// {"all": "bf16", "experts": "mxfp4"} as the option takes it: "bf16,experts=mxfp4".
std::string parts_text(const json::Value& v) {
  std::string all;
  for (const auto& [part, format] : v.items()) {
    const std::string one = format.is_string() ? format.get<std::string>() : format.dump();
    all += (all.empty() ? "" : ",") + (part == "all" ? one : part + "=" + one);
  }
  return all;
}

std::string value_text(const Option& o, const json::Value& v, const std::string& where) {
  if (v.is_string()) return v.get<std::string>();
  if (v.is_number_float()) return fmt::format("{}", v.get<double>());
  if (v.is_number()) return v.dump();
  if (v.is_boolean()) return v.get<bool>() ? "on" : "off";
  if (v.is_object()) return parts_text(v);
  throw InputError(fmt::format("{}, {}: expected a number or a text", where, in_quotes(o.key())));
}

}  // namespace

void read_inputs(Request& r, const json::Value& inputs, const std::string& where) {
  if (!inputs.is_object()) throw InputError(fmt::format("{}: expected an object of options", where));
  for (const auto& [key, value] : inputs.items()) {
    const Option& o = input_called(r, key, where);
    if (!o.value.empty())
      give(r, o, value_text(o, value, where));
    else if (flag_value(o, value, where))
      give(r, o, "");
  }
}

}  // namespace llmcalc
