#include "presets/estimators/estimate.hpp"

#include <fmt/format.h>

#include "presets/builtin.hpp"
#include "text/error.hpp"
#include "text/leading_number.hpp"

namespace llmcalc {

namespace {

/// Reads a parameter's value. All other keys of its JSON object are documentation.
double read_parameter(const json::Object& o, const ParameterCard& card) {
  const double x = o.number_or("value", card.low - 1);
  if (x < card.low || x > card.high)
    throw InputError(fmt::format("{}, \"value\": expected a number from {} to {}", o.where(), card.low, card.high));
  return x;
}

EstimateInterval read_interval(const json::Object& o) {
  const EstimateInterval i{o.number_or("factor", 0), o.count("families")};
  if (i.factor < 1) throw InputError(fmt::format("{}, \"factor\": expected 1 or more, got {}", o.where(), i.factor));
  o.refuse_unread();
  return i;
}

/// `x` rounded to the number of significant digits that a fit provides.
double rounded(double x) { return leading_real(fmt::format("{:.4g}", x)); }

/// JSON of a parameter: its value, default, bounds, meaning and source.
json::Value parameter_json(const ParameterCard& card, double value) {
  return {{"value", rounded(value)},
          {"default", card.standard},
          {"bounds", {card.low, card.high}},
          {"meaning", card.meaning},
          {"source", card.source}};
}

/// Reads intervals by class name. Missing intervals stay unknown.
void read_intervals(const json::Object& o, std::span<const std::string_view> classes,
                    std::span<EstimateInterval> intervals) {
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (o.has(classes[i])) intervals[i] = read_interval(o.object(classes[i]));
  o.refuse_unread();
}

json::Value intervals_json(std::span<const std::string_view> classes, std::span<const EstimateInterval> intervals) {
  json::Value v = json::Value::object();
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (const EstimateInterval& interval = intervals[i]; interval.families > 0)
      v[std::string(classes[i])] = {{"factor", rounded(interval.factor)}, {"families", interval.families}};
  return v;
}

}  // namespace

void read_estimate(const json::Value& value, const std::string& where, const EstimateRead& to) {
  const json::Object o(value, where);
  o.text("name");
  o.text_or("title", "");
  to.fitted = o.text("fitted");
  if (o.has("devices")) to.devices = o.texts("devices");
  if (to.software != nullptr && o.has("software")) *to.software = o.texts("software");
  const json::Object parameters = o.object("parameters");
  for (std::size_t i = 0; i < to.cards.size(); ++i)
    to.values[i] = read_parameter(parameters.object(to.cards[i].name), to.cards[i]);
  parameters.refuse_unread();
  read_intervals(o.object("intervals"), to.classes, to.intervals);
  if (!to.intervals_once_measured.empty() && o.has("intervals_once_measured"))
    read_intervals(o.object("intervals_once_measured"), to.classes, to.intervals_once_measured);
  if (!to.intervals_new.empty() && o.has("intervals_new"))
    read_intervals(o.object("intervals_new"), to.classes, to.intervals_new);
  if (!to.intervals_after_a_run.empty() && o.has("intervals_after_a_run"))
    read_intervals(o.object("intervals_after_a_run"), to.classes, to.intervals_after_a_run);
  o.refuse_unread();
}

json::Value estimate_json(std::string_view name, std::string_view title, const EstimateWritten& from) {
  json::Value v{{"name", name}, {"title", title}, {"fitted", from.fitted}};
  if (!from.devices.empty()) v["devices"] = from.devices;
  if (from.software != nullptr && !from.software->empty()) v["software"] = *from.software;
  for (std::size_t i = 0; i < from.cards.size(); ++i)
    v["parameters"][std::string(from.cards[i].name)] = parameter_json(from.cards[i], from.values[i]);
  v["intervals"] = intervals_json(from.classes, from.intervals);
  if (json::Value of_new = intervals_json(from.classes, from.intervals_new); !of_new.empty())
    v["intervals_new"] = std::move(of_new);
  if (!from.intervals_once_measured.empty())
    v["intervals_once_measured"] = intervals_json(from.classes, from.intervals_once_measured);
  if (json::Value after = intervals_json(from.classes, from.intervals_after_a_run); !after.empty())
    v["intervals_after_a_run"] = std::move(after);
  return v;
}

EstimateFile builtin_estimate(std::string_view name) {
  const Builtin& b = *find_builtin(builtin_estimates(), name);
  const std::string where = fmt::format("estimates/{}.json", b.name);
  return {json::parse(b.text, where), where};
}

}  // namespace llmcalc
