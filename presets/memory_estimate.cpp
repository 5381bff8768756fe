#include "presets/memory_estimate.hpp"

#include <fmt/format.h>

#include "presets/builtin.hpp"
#include "text/error.hpp"

namespace llmcalc {

namespace {

double not_negative(const json::Object& o, std::string_view key) {
  const double x = o.number_or(key, -1);
  if (x < 0) throw InputError(fmt::format("{}, \"{}\": expected 0 or more", o.where(), key));
  return x;
}

EstimateInterval interval_of(const json::Object& o) {
  const EstimateInterval i{o.number_or("factor", 0), o.count("families")};
  if (i.factor < 1) throw InputError(fmt::format("{}, \"factor\": expected 1 or more, got {}", o.where(), i.factor));
  o.refuse_unread();
  return i;
}

/// Rounded to the digits that a fit tells.
double to_four_digits(double x) { return std::stod(fmt::format("{:.4g}", x)); }

}  // namespace

MemoryEstimate read_memory_estimate(const json::Value& value, const std::string& where) {
  const json::Object o(value, where);
  MemoryEstimate e;
  o.text("name");
  o.text_or("title", "");
  e.fitted = o.text("fitted");
  const json::Object parameters = o.object("parameters"), intervals = o.object("intervals");
  e.parameters = {not_negative(parameters, "reserved"), not_negative(parameters, "fragmented"),
                  not_negative(parameters, "process_bytes")};
  for (const auto& c : choices<MemoryClass>)
    if (intervals.has(c.name)) e.intervals[static_cast<std::size_t>(c.value)] = interval_of(intervals.object(c.name));
  parameters.refuse_unread();
  intervals.refuse_unread();
  o.refuse_unread();
  return e;
}

json::Value memory_estimate_json(const MemoryEstimate& e) {
  json::Value v{
      {"name", "memory"}, {"title", "what a training process holds beside its tensors"}, {"fitted", e.fitted}};
  v["parameters"] = {{"reserved", to_four_digits(e.parameters.reserved)},
                     {"fragmented", to_four_digits(e.parameters.fragmented)},
                     {"process_bytes", to_four_digits(e.parameters.process)}};
  v["intervals"] = json::Value::object();
  for (const auto& c : choices<MemoryClass>)
    if (const EstimateInterval& i = e.interval(c.value); i.families > 0)
      v["intervals"][std::string(c.name)] = {{"factor", to_four_digits(i.factor)}, {"families", i.families}};
  return v;
}

const MemoryEstimate& memory_estimate() {
  static const MemoryEstimate fitted = [] {
    const Builtin& b = *find_builtin(builtin_estimates(), "memory");
    const std::string where = fmt::format("estimates/{}.json", b.name);
    return read_memory_estimate(json::parse(b.text, where), where);
  }();
  return fitted;
}

}  // namespace llmcalc
